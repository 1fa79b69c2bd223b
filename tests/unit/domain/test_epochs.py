"""Rules that change: where epochs begin, what they leave closed, and what a task says of them at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.cleanliness.rule import Refusing
from app.domain.errors import StateError
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import BUILDING, BuildPosition, InputPosition, Marker, ViewPosition
from app.domain.obeyed import giving_grace, lowest_seen_us, rules_of
from app.domain.oracle.view_fold import is_late
from app.domain.records import TopicPartition
from app.domain.rules.epochs import GraceEpoch, Rules, SkewEpoch, epoch_at, seen_us, with_declared, with_grace
from app.domain.source import Action, Rule, Source
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import Restorer, new_state
from app.engine.core.task import TaskCore
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.tasks.staged_core import MEETING

MINUTE = 60_000_000
PANE_US = 5 * MINUTE
FIRST = (GraceEpoch(10, 600),)
TOPICS = tuple(topic.name for topic in RIDES.topics)


def changed(epochs: tuple[GraceEpoch, ...], grace_seconds: int, at: int, watermark_us: int) -> tuple[GraceEpoch, ...]:
    return with_grace(epochs, grace_seconds, start=10, at=at, watermark_us=watermark_us)


def late(view_grace_seconds: int, epoch: GraceEpoch, end_us: int, watermark_us: int) -> bool:
    view = replace(ZONE_DEMAND, grace_seconds=view_grace_seconds)
    return is_late(view, end_us - PANE_US, seen_us(view, epoch, watermark_us))


def stamped(skew_seconds: int, *rules: Rule) -> Source:
    """Rides that are held to this skew, and to these rules."""
    return replace(RIDES, skew_seconds=skew_seconds, rules=rules)


def test_the_first_epoch_begins_where_the_topic_does_and_had_nothing_closed_before_it() -> None:
    assert changed((), 600, at=99, watermark_us=0) == FIRST
    assert with_declared((), stamped(60), start=10, at=99) == (SkewEpoch(10, 60),)


def test_the_same_rule_begins_no_epoch() -> None:
    assert changed(FIRST, 600, at=99, watermark_us=0) == FIRST
    assert with_declared((SkewEpoch(10, 60),), stamped(60), start=10, at=99) == (SkewEpoch(10, 60),)


def test_another_rule_begins_an_epoch_with_what_was_closed_by_then() -> None:
    assert changed(FIRST, 60, at=99, watermark_us=100 * MINUTE) == (*FIRST, GraceEpoch(99, 60, 90 * MINUTE))
    assert with_declared((SkewEpoch(10, 60),), stamped(0), start=10, at=99) == (SkewEpoch(10, 60), SkewEpoch(99, 0))


def test_a_rule_that_quarantines_begins_an_epoch_and_its_spelling_or_another_action_does_not() -> None:
    unpaid = Rule("unpaid", Action.QUARANTINE, "fare_cents < 1")
    first = with_declared((), stamped(60), start=0, at=0)
    (_, second) = refusing = with_declared(first, stamped(60, unpaid), start=0, at=5)
    assert second == SkewEpoch(5, 60, (Refusing("unpaid", "fare_cents < 1"),))
    assert with_declared(refusing, stamped(60, replace(unpaid, when="(fare_cents  <1)")), start=0, at=9) == refusing
    assert with_declared(first, stamped(60, replace(unpaid, action=Action.MARK)), start=0, at=9) == first
    assert with_declared(refusing, stamped(60), start=0, at=9)[-1] == SkewEpoch(9, 60)


def test_what_was_refused_by_a_column_that_is_gone_cannot_be_judged_again() -> None:
    with pytest.raises(StateError, match=r"by the rule 'old'.*no column 'gone_cents' any more"):
        RIDES.conditions([Refusing("old", "gone_cents < 0")])


def test_before_any_record_an_epoch_has_no_floor() -> None:
    assert changed(FIRST, 60, at=10, watermark_us=NO_WATERMARK)[-1].floor_us == NO_WATERMARK


def test_a_larger_grace_opens_no_window_that_was_closed() -> None:
    """Closed to minute 90 by a grace of 10; with 30 minutes the window would close at watermark 119 only."""
    larger = changed(FIRST, 1800, at=99, watermark_us=100 * MINUTE)[-1]
    assert late(1800, larger, 90 * MINUTE, 100 * MINUTE)
    assert not late(1800, larger, 90 * MINUTE + PANE_US, 100 * MINUTE)
    assert not late(1800, larger, 90 * MINUTE + PANE_US, 125 * MINUTE - 1)
    assert late(1800, larger, 90 * MINUTE + PANE_US, 125 * MINUTE)


def test_a_smaller_grace_closes_at_once_what_the_watermark_has_passed() -> None:
    smaller = changed(FIRST, 0, at=99, watermark_us=100 * MINUTE)[-1]
    assert late(0, smaller, 100 * MINUTE, 100 * MINUTE)


def test_a_rule_that_judged_no_record_may_have_closed_windows() -> None:
    """No grace, for no record, and the larger one again at the same offset."""
    both = changed(changed(FIRST, 0, at=99, watermark_us=100 * MINUTE), 600, at=99, watermark_us=100 * MINUTE)
    assert both[-1].floor_us == 100 * MINUTE
    assert epoch_at(both, 99) is both[-1]
    assert epoch_at(both, 98) is both[0]
    assert epoch_at(both, 9) is None


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10**9)), max_size=8), st.integers(0, 100))
def test_what_is_closed_only_grows(steps: list[tuple[int, int]], first_seconds: int) -> None:
    epochs = changed((), first_seconds, at=0, watermark_us=NO_WATERMARK)
    watermark_us, closed = NO_WATERMARK, NO_WATERMARK
    for at, (seconds, raised_us) in enumerate(steps):
        epochs = changed(epochs, seconds, at=at, watermark_us=watermark_us)
        assert epochs[-1].closed_to_us(watermark_us) >= closed
        watermark_us = max(watermark_us, raised_us)
        assert epochs[-1].closed_to_us(watermark_us) >= closed
        closed = epochs[-1].closed_to_us(watermark_us)


def test_a_running_total_has_no_epochs_of_grace() -> None:
    inputs = {topic: InputPosition("id", 0, 5, MINUTE) for topic in TOPICS}
    position = ViewPosition(2, "v", start=dict.fromkeys(TOPICS, 0))
    assert giving_grace(VENDOR_TRIPS, position, inputs) is position
    assert seen_us(VENDOR_TRIPS, GraceEpoch(0, 5, MINUTE), 7) == 7


def test_a_view_that_is_being_built_begins_its_epoch_where_it_has_read_to() -> None:
    inputs = {topic: InputPosition("id", 0, 50, 100 * MINUTE) for topic in TOPICS}
    built = {topic: BuildPosition(20, 30 * MINUTE) for topic in TOPICS}
    graces = {topic: (GraceEpoch(0, 600),) for topic in TOPICS}
    position = ViewPosition(1, "v", BUILDING, dict.fromkeys(TOPICS, 0), built=built, graces=graces)
    now = giving_grace(replace(ZONE_DEMAND, grace_seconds=0), position, inputs)
    assert set(now.graces.values()) == {(GraceEpoch(0, 600), GraceEpoch(20, 0, 20 * MINUTE))}


def test_the_lowest_watermark_that_a_view_sees_minds_each_topic_s_floor() -> None:
    inputs = {topic: InputPosition("id", 0, 50, 100 * MINUTE) for topic in TOPICS}
    view = replace(ZONE_DEMAND, grace_seconds=3600)
    graces = {topic: (GraceEpoch(0, 3600, 80 * MINUTE),) for topic in TOPICS[:-1]}
    marker = Marker("a", 1, 0, 1, inputs, {view.name: ViewPosition(1, view.version, graces=graces)})
    assert lowest_seen_us(view, marker) == 100 * MINUTE  # the last topic's, which has no floor
    graces[TOPICS[-1]] = (GraceEpoch(0, 3600, 70 * MINUTE),)
    assert lowest_seen_us(view, marker) == 130 * MINUTE
    unread = replace(marker, inputs={**inputs, TOPICS[0]: InputPosition("id", 0, 0)})
    graces[TOPICS[0]] = ()
    assert lowest_seen_us(view, unread) == NO_WATERMARK


def test_of_several_markers_of_a_task_the_one_that_knows_most_epochs_counts() -> None:
    at = TopicPartition(TOPICS[0], 0)
    skews = (SkewEpoch(0, 600), SkewEpoch(9, 0))
    markers = [Marker("a", 1, 0, n, {TOPICS[0]: InputPosition("id", 0, 9, skews=skews[:n])}, {}) for n in (2, 1)]
    rules = rules_of(ZONE_DEMAND, markers)
    assert [rules.held_to(RIDES, at, offset).skew_seconds for offset in (8, 9)] == [600, 0]
    assert Rules().held_to(RIDES, at, 8) == SkewEpoch.declared(RIDES)


def taken_over(definition: TaskDefinition, core: TaskCore) -> TaskCore:
    return TaskCore(definition, Restorer(definition, core.state).finish(starts(definition), 0))


def starts(definition: TaskDefinition) -> dict[str, InputPosition]:
    return {topic: InputPosition("id", 0, 0) for topic in definition.topics}


def core_of(definition: TaskDefinition) -> TaskCore:
    return TaskCore(definition, new_state(definition, 0, starts(definition)))


def test_a_task_with_other_rules_says_so_in_a_transaction_of_its_own_and_only_once() -> None:
    """Or an export would name a marker that the changelog does not hold."""
    core = core_of(TaskDefinition("app", (RIDES,), (ZONE_DEMAND,)))
    raised = core.advance(TOPICS[0], MINUTE)
    assert raised is not None
    core.commit(raised, 0)
    assert core.keep_up() is None
    core = taken_over(TaskDefinition("app", (RIDES,), (replace(ZONE_DEMAND, grace_seconds=7),)), core)
    core = taken_over(core.definition, core)  # again, before it was written
    told = core.keep_up()
    assert told is not None
    assert [epoch.grace_seconds for epoch in told.marker.views["zone_demand"].graces[TOPICS[0]]] == [3 * 3600, 7]
    assert not told.outputs
    core.commit(told, 1)
    assert core.keep_up() is None
    assert taken_over(core.definition, core).keep_up() is None


def test_a_join_that_was_changed_under_its_number_is_refused_in_words() -> None:
    of: dict[str, Any] = {"schema_ids": {MEETING.output.name: 1}}
    core = core_of(TaskDefinition("app", (RIDES,), (), (MEETING,), **of))
    longer = replace(MEETING, grace_seconds=MEETING.grace_seconds + 1)
    with pytest.raises(StateError, match=r"join 'meeting' was .* Give the changed join another number"):
        taken_over(TaskDefinition("app", (RIDES,), (), (longer,), **of), core)
    other = taken_over(TaskDefinition("app", (RIDES,), (), (replace(longer, number=2),), **of), core)
    assert other.state.marker.joins["meeting"].version == longer.version
