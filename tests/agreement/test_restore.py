"""A state read back from its changelog is the state that wrote it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.stored.row_keys import row_prefix
from app.domain.errors import LayoutError, StateError
from app.domain.view import View
from app.engine.core.batch import Batch, Transaction
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import Restorer
from app.engine.core.task import TaskCore
from app.engine.core.task_state import TaskState
from app.rides.ride import RIDES
from tests.support.material.histories import SCHEMAS, TOPIC_NAMES, random_log, random_splits
from tests.support.material.views import ALL_VIEWS
from tests.support.tasks.batches import as_batches
from tests.support.tasks.cores import new_core

DEFINITION = TaskDefinition("flagfall", (RIDES,), ALL_VIEWS)


def write_all(rng: random.Random, *, batches: int = 120) -> tuple[TaskCore, list[Transaction]]:
    core, transactions = new_core(0), []
    for topic in TOPIC_NAMES[:2]:
        log = random_log(rng, topic, 0, batches)
        for base, until in random_splits(rng, log.next_offset):
            transaction = core.plan(core.read([log.batch(base, until)], SCHEMAS))
            assert transaction is not None
            core.commit(transaction, 0)
            transactions.append(transaction)
    return core, transactions


def finished(restorer: Restorer, core: TaskCore) -> TaskState:
    return restorer.finish(core.state.marker.inputs, 0)


def stored(state: TaskState, view: View) -> dict[bytes, bytes]:
    return dict(zip(*state.views[view.name].stored(), strict=True))


@given(seed=st.integers(0, 2**32))
def test_a_restored_state_has_the_rows_blocks_and_marker_that_were_written(seed: int) -> None:
    rng = random.Random(seed)
    core, transactions = write_all(rng)
    written = [record for transaction in transactions for record in transaction.changelog]
    restorer = Restorer(core.definition)
    for batch in as_batches(written, rng):
        restorer.read(batch)
    state = finished(restorer, core)
    assert state.marker == core.state.marker
    assert state.marker_offset == len(written) - 1
    assert state.blocks == core.state.blocks
    for view in ALL_VIEWS:
        assert stored(state, view) == stored(core.state, view)


@given(seed=st.integers(0, 2**32))
def test_reading_only_the_tail_of_the_log_continues_a_kept_state(seed: int) -> None:
    rng = random.Random(seed)
    core, transactions = write_all(rng)
    written = [record for transaction in transactions for record in transaction.changelog]
    cut = rng.randint(0, len(written))
    whole, head = Restorer(core.definition), Restorer(core.definition)
    for batch in as_batches(written, rng):
        whole.read(batch)
    for batch in as_batches(written[:cut], rng):
        head.read(batch)
    tail = Restorer(core.definition, finished(head, core))
    for batch in as_batches(written[cut:], rng):
        tail.read(batch)
    for view in ALL_VIEWS:
        assert stored(finished(whole, core), view) == stored(finished(tail, core), view)


def test_rows_of_views_that_are_not_declared_are_left_alone_and_counted() -> None:
    _, transactions = write_all(random.Random(3))
    restorer = Restorer(TaskDefinition("flagfall", (RIDES,), ALL_VIEWS[:1]))
    written = {key: value for transaction in transactions for key, value in transaction.changelog}
    for batch in as_batches(list(written.items()), random.Random(1)):
        restorer.read(batch)
    assert sum(restorer.foreign.values()) > 0


def read_all(restorer: Restorer, batches: list[Batch]) -> None:
    for batch in batches:
        restorer.read(batch)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (b"\x02\x01abc", b"x", "changelog key 0201616263 is not of layout 1"),
        (b"a stranger's", b"x", "changelog key 6120737472616e67 is not of layout 1"),
        (
            b"\x01\x63abcdefgh",
            b"x",
            "changelog key 0163616263646566 is of kind 99, which this version does not know",
        ),
        (row_prefix(ALL_VIEWS[0]), b"x", "of zone_demand ends too soon"),
        (b"\x01\x02\x00\x01", b'{"layout":6}', "a value of 12 bytes (7b226c61796f7574…) is no marker"),
        (b"\x01\x02\x00\x01", b"x", "a value of 1 bytes (78…) is no marker"),
    ],
    ids=["another layout", "no layout", "another kind", "no row", "an empty marker", "no marker"],
)
def test_a_record_that_is_none_of_ours_is_told_with_its_place_and_what_to_do(
    key: bytes, value: bytes, words: str
) -> None:
    _, transactions = write_all(random.Random(3))
    ours = [record for transaction in transactions for record in transaction.changelog][:20]
    restorer, batches = Restorer(DEFINITION), as_batches([*ours[:7], (key, value), *ours[7:]], random.Random(1))
    with pytest.raises(LayoutError) as refused:
        read_all(restorer, batches)
    told = str(refused.value)
    assert told.startswith(f"{batches[0].topic}-0, offset 7: ")
    assert words in told
    assert all(remedy in told for remedy in ("newer version", "find and stop it", "another FLAGFALL_APP_ID"))


def test_a_record_without_a_key_is_told_with_its_place_and_what_to_do() -> None:
    batch = as_batches([(None, b"x")], random.Random(1))[0]  # type: ignore[list-item]
    told = rf"^{batch.topic}-{batch.partition}, offset {batch.base_offset}: a record without key, .*FLAGFALL_APP_ID"
    with pytest.raises(StateError, match=told):
        Restorer(DEFINITION).read(batch)


def test_a_tombstone_removes_its_row_whether_it_was_read_before_or_not() -> None:
    core, transactions = write_all(random.Random(3))
    written = [record for transaction in transactions for record in transaction.changelog]
    view = ALL_VIEWS[0]
    gone, *left = stored(core.state, view)
    for batches in ([written, [(gone, None)]], [[*written, (gone, None)]]):
        restorer = Restorer(core.definition)
        for part in batches:
            for batch in as_batches(part, random.Random(1)):
                restorer.read(batch)
        assert set(stored(finished(restorer, core), view)) == set(left)
