"""The worker's core gives what the naive fold gives, for any history and any way it is cut into batches."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.stored.changelog import NULL_INTEGER
from app.domain.oracle.view_fold import fold
from app.domain.records import TopicPartition
from app.rides.ride import RIDES
from tests.support.material.histories import SCHEMAS, TOPIC_NAMES, random_log
from tests.support.material.views import ALL_VIEWS
from tests.support.tasks.cores import new_core, rows_of, run


@given(seed=st.integers(0, 2**32), count=st.integers(0, 150))
def test_rows_fates_and_watermarks_are_those_of_the_naive_fold(seed: int, count: int) -> None:
    rng = random.Random(seed)
    logs = [random_log(rng, topic, 3, count) for topic in TOPIC_NAMES[:2]]
    core = new_core(3)
    run(core, logs, rng)
    records = [record for log in logs for record in log.records]
    for view in ALL_VIEWS:
        expected = fold(view, records)
        assert rows_of(core, view) == dict(expected.rows[3])
        fates = core.state.marker.views[view.name].fates
        assert sum(f.applied for f in fates.values()) == len(expected.applied)
        assert sum(f.late for f in fates.values()) == len(expected.late)
        assert sum(f.out_of_scope for f in fates.values()) == len(expected.out_of_scope)
    for log in logs:
        position = core.state.marker.inputs[log.topic]
        assert position.adds_up
        assert position.next_offset == count
        refused = [r for r in expected.quarantined if r.topic == log.topic]
        assert position.quarantined == len(refused) + len(log.poisoned)
        if count:
            assert position.watermark_us == expected.watermarks.get(TopicPartition(log.topic, 3), -(1 << 63))


@given(seed=st.integers(0, 2**32))
def test_any_split_into_batches_gives_the_same_changelog_state(seed: int) -> None:
    rng = random.Random(seed)
    logs = [random_log(rng, topic, 0, 120) for topic in TOPIC_NAMES]
    one, other = new_core(0), new_core(0)
    run(one, logs, rng)
    run(other, logs, rng)
    for view in ALL_VIEWS:
        assert rows_of(one, view) == rows_of(other, view)
    assert one.state.blocks == other.state.blocks
    assert replace(one.state.marker, sequence=0) == replace(other.state.marker, sequence=0)


@given(seed=st.integers(0, 2**32))
def test_a_batch_that_was_already_covered_changes_nothing(seed: int) -> None:
    rng = random.Random(seed)
    log = random_log(rng, TOPIC_NAMES[0], 0, 100)
    core = new_core(0)
    run(core, [log], rng)
    assert core.plan(core.read([log.batch(20, 90)], SCHEMAS)) is None
    again = new_core(0)
    first = again.plan(again.read([log.batch(0, 60)], SCHEMAS))
    assert first is not None
    again.commit(first, 0)
    overlapping = again.plan(again.read([log.batch(30, 100)], SCHEMAS))
    assert overlapping is not None
    again.commit(overlapping, 0)
    for view in ALL_VIEWS:
        assert rows_of(core, view) == rows_of(again, view)


def test_a_gap_before_a_batch_stops_the_task() -> None:
    core = new_core(0)
    log = random_log(random.Random(1), TOPIC_NAMES[0], 0, 50)
    with pytest.raises(Exception, match="begins at offset 10, but the state covers only what is below 0"):
        core.plan(core.read([log.batch(10, 50)], SCHEMAS))


def test_planning_leaves_the_committed_state_alone() -> None:
    core = new_core(0)
    log = random_log(random.Random(1), TOPIC_NAMES[0], 0, 50)
    before = core.state.marker
    core.plan(core.read([log.batch(0, 50)], SCHEMAS))
    assert core.state.marker is before
    assert all(len(view) == 0 for view in core.state.views.values())


def test_no_group_value_can_be_taken_for_null() -> None:
    low = min(c.low for c in RIDES.columns if c.low is not None)
    assert low > NULL_INTEGER
