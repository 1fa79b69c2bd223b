"""A state read back from its changelog is the state that wrote it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import LayoutError, StateError
from app.domain.fold import fold
from app.domain.marker import InputPosition
from app.engine.batch import Batch, Transaction
from app.engine.restore import Restorer
from app.engine.state import TaskState, ViewState
from app.engine.task import TaskCore, TaskDefinition
from app.rides.ride import RIDES
from tests.agreement.test_worker_and_oracle import new_core, rows_of
from tests.support.histories import SCHEMAS, TOPIC_NAMES, random_log, random_splits
from tests.support.views import ALL_VIEWS

CHANGELOG = "flagfall-rides-changelog"


def as_batches(written: list[tuple[bytes, bytes | None]], rng: random.Random) -> list[Batch]:
    """Changelog records as fetches give them, cut at random."""
    return [
        Batch(
            topic=CHANGELOG,
            partition=0,
            base_offset=base,
            next_offset=until,
            offsets=np.arange(base, until),
            timestamps_ms=np.zeros(until - base, np.int64),
            keys=[key for key, _ in written[base:until]],
            values=[value for _, value in written[base:until]],
            headers=[()] * (until - base),
        )
        for base, until in random_splits(rng, len(written))
    ]


def write_all(rng: random.Random, *, batches: int = 120) -> tuple[object, list[Transaction]]:
    core, transactions = new_core(0), []
    for topic in TOPIC_NAMES[:2]:
        log = random_log(rng, topic, 0, batches)
        for base, until in random_splits(rng, log.next_offset):
            transaction = core.plan(log.batch(base, until), SCHEMAS)
            assert transaction is not None
            core.commit(transaction, 0)
            transactions.append(transaction)
    return core, transactions


@given(seed=st.integers(0, 2**32))
def test_a_restored_state_has_the_rows_blocks_and_marker_that_were_written(seed: int) -> None:
    rng = random.Random(seed)
    core, transactions = write_all(rng)
    written = [record for transaction in transactions for record in transaction.changelog]
    restorer = Restorer(ALL_VIEWS)
    for batch in as_batches(written, rng):
        restorer.read(batch)
    assert restorer.marker == core.state.marker
    assert restorer.marker_offset == len(written) - 1
    assert restorer.blocks == core.state.blocks
    for view in ALL_VIEWS:
        again = new_core(0)
        again.state.views[view.name] = restorer.states[view.name]
        assert rows_of(again, view) == rows_of(core, view)


@given(seed=st.integers(0, 2**32))
def test_reading_only_the_tail_of_the_log_continues_a_kept_state(seed: int) -> None:
    rng = random.Random(seed)
    _, transactions = write_all(rng)
    written = [record for transaction in transactions for record in transaction.changelog]
    whole, tail_only = Restorer(ALL_VIEWS), Restorer(ALL_VIEWS)
    cut = rng.randint(0, len(written))
    for restorer, parts in ((whole, [written]), (tail_only, [written[:cut], written[cut:]])):
        for part in parts:
            for batch in as_batches(part, rng):
                restorer.read(batch)
    for view in ALL_VIEWS:
        assert sorted(zip(*whole.states[view.name].stored(), strict=True)) == sorted(
            zip(*tail_only.states[view.name].stored(), strict=True)
        )


def test_rows_of_views_that_are_not_declared_are_left_alone_and_counted() -> None:
    _, transactions = write_all(random.Random(3))
    restorer = Restorer(ALL_VIEWS[:1])
    written = {key: value for transaction in transactions for key, value in transaction.changelog}
    for batch in as_batches(list(written.items()), random.Random(1)):
        restorer.read(batch)
    assert restorer.foreign > 0


def test_a_record_of_another_layout_is_refused_in_words() -> None:
    with pytest.raises(LayoutError, match="not of layout 1"):
        Restorer(ALL_VIEWS).read(as_batches([(b"\x02\x01abc", b"x")], random.Random(1))[0])


def test_a_tombstone_is_refused_in_words() -> None:
    _, transactions = write_all(random.Random(3), batches=5)
    key, _ = transactions[0].changelog[0]
    with pytest.raises(StateError, match="without key or value"):
        Restorer(ALL_VIEWS).read(as_batches([(key, None)], random.Random(1))[0])


@given(seed=st.integers(0, 2**32))
def test_a_view_that_is_new_starts_at_the_position_and_leaves_the_others_alone(seed: int) -> None:
    rng = random.Random(seed)
    log = random_log(rng, TOPIC_NAMES[0], 0, 100)
    old = TaskDefinition("flagfall", RIDES, ALL_VIEWS[:1])
    core = TaskCore(old, old.empty_state(0, {topic: InputPosition("id", 0, 0) for topic in old.topics}))
    first = core.plan(log.batch(0, 60), SCHEMAS)
    assert first is not None
    core.commit(first, 0)
    new = TaskDefinition("flagfall", RIDES, ALL_VIEWS)
    states = core.state.views | {view.name: ViewState(view) for view in ALL_VIEWS[1:]}
    core = TaskCore(new, TaskState(new.with_views(core.state.marker), states, 0, core.state.blocks))
    second = core.plan(log.batch(60, 100), SCHEMAS)
    assert second is not None
    core.commit(second, 1)
    assert rows_of(core, ALL_VIEWS[0]) == dict(fold(ALL_VIEWS[0], log.records).rows[0])
    for view in ALL_VIEWS[1:]:
        assert core.state.marker.views[view.name].start[log.topic] == 60
        since = [record for record in log.records if record.offset >= 60]
        assert core.state.marker.views[view.name].fates[log.topic].total == len(
            [r for r in since if r.offset not in {q.offset for q in fold(view, log.records).quarantined}]
        )
