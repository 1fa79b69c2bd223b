"""Batches of several topics in one transaction do what they do one after the other."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import StateError
from app.engine.core.batch import Batch
from app.engine.core.task import TaskCore
from tests.support.material.histories import SCHEMAS, TOPIC_NAMES, random_log, random_splits
from tests.support.material.views import ALL_VIEWS
from tests.support.tasks.cores import new_core, rows_of


def commit(core: TaskCore, *batches: Batch) -> list[tuple[str, bytes | None]]:
    """Plan them together and commit; gives what went to other topics."""
    transaction = core.plan(core.read(batches, SCHEMAS))
    assert transaction is not None
    core.commit(transaction, marker_offset=0)
    keys = [key for key, _ in transaction.changelog]
    assert len(keys) == len(set(keys))
    return [(output.topic, output.value) for output in transaction.outputs]


@given(seed=st.integers(0, 2**32), count=st.integers(1, 60))
def test_rows_blocks_marker_and_outputs_are_the_same(seed: int, count: int) -> None:
    """Each round has a batch of some of the topics, of any size; a round is one transaction here, several there."""
    rng = random.Random(seed)
    logs = [random_log(rng, topic, 3, count) for topic in TOPIC_NAMES]
    left = [[log.batch(base, until) for base, until in random_splits(rng, count)] for log in logs]
    together, apart = new_core(3), new_core(3)
    while any(left):
        batches = [queue.pop(0) for queue in left if queue and rng.random() < 0.7]
        if batches:
            outputs = [told for batch in batches for told in commit(apart, batch)]
            assert commit(together, *batches) == outputs
    for view in ALL_VIEWS:
        assert rows_of(together, view) == rows_of(apart, view)
    assert together.state.blocks == apart.state.blocks
    assert replace(together.state.marker, sequence=0) == replace(apart.state.marker, sequence=0)


def test_what_was_read_before_the_task_moved_is_refused() -> None:
    """Its position, or the watermark that its records were judged by, is not the task's any more."""
    log = random_log(random.Random(1), TOPIC_NAMES[0], 3, 10)
    core = new_core(3)
    reads = core.read([log.batch(0, 10)], SCHEMAS)
    advanced = core.advance(TOPIC_NAMES[0], 10**15)
    assert advanced is not None
    core.commit(advanced, marker_offset=0)
    with pytest.raises(StateError, match=r"yellow-3: read at offset 0 .*, but the task stands at 0 \(10{15}\)"):
        core.plan(reads)
    reads = core.read([log.batch(0, 10)], SCHEMAS)
    commit(core, log.batch(0, 5))
    with pytest.raises(StateError, match=r"read at offset 0 .*, but the task stands at 5"):
        core.plan(reads)


def test_what_the_state_has_already_is_left_out() -> None:
    """yellow |0 .. 10|, then yellow |0 .. 10| again together with green |0 .. 10|"""
    rng = random.Random(1)
    yellow, green = (random_log(rng, topic, 3, 10) for topic in TOPIC_NAMES[:2])
    core, apart = new_core(3), new_core(3)
    commit(core, yellow.batch(0, 10))
    commit(core, yellow.batch(0, 10), green.batch(0, 10))
    commit(apart, yellow.batch(0, 10))
    commit(apart, green.batch(0, 10))
    assert core.state.marker == apart.state.marker
    assert core.read([yellow.batch(0, 10), green.batch(3, 10)], SCHEMAS) == []
