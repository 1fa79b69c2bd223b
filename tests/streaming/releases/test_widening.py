"""Partitions that are added while no worker runs, on the simulated cluster: no table anew, no final twice."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from app.base import names
from app.domain.advance import Advance
from app.domain.errors import StateError
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Marker
from app.domain.view import View
from app.engine.core.definition import TaskDefinition
from app.engine.core.mending.widening import begin, is_wide, tell_count
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.last_markers import last_markers
from app.testkit.cluster.until_idle import run_until_idle
from app.testkit.simulation.parcels import HUB_LOAD, MINUTE_US, PARCELS
from app.testkit.simulation.samples import START_US
from app.testkit.simulation.widening import widen
from tests.support.tasks.mended import values
from tests.support.tasks.several import AIR, HUBS, ROAD, finals_told, fold, minute_of, send, send_everywhere, task_of

FEW = TaskDefinition("app", (PARCELS,), (HUB_LOAD,), finals=(HUB_LOAD.name,), task_count=2)
MORE = replace(FEW, task_count=4)
LONG = replace(HUB_LOAD, grace_seconds=3600)
LIGHT = replace(HUB_LOAD, number=9, measures=HUB_LOAD.measures[:1])
OTHER = replace(LIGHT, name="light")


def published(broker: Broker) -> Counter[tuple[int, int, int]]:
    """Minute, hub and count of each final."""
    told = finals_told(broker, HUB_LOAD)
    return Counter((minute_of(one["window_start_us"]), one["hub"], one["count"]) for one in told)


def of_window(minute: int, count: int) -> Counter[tuple[int, int, int]]:
    return Counter((minute, hub, count) for hub in HUBS)


@pytest.fixture
def two_tasks() -> Broker:
    """Windows 0 and 10 are published, 20 waits in both tasks, one of which has closed it and sent its rows."""
    broker = Broker(partitions=2)
    for partition, last in ((0, 55), (1, 49)):
        for minute in (0, 10, 20, last):
            send(broker, partition, minute)
            send(broker, partition, minute, ROAD)
    fold(broker, FEW)
    assert published(broker) == of_window(0, 4) + of_window(10, 4)
    assert {m.views[HUB_LOAD.name].closed_to_us for m in last_markers(broker, FEW).values()} == {
        START_US + 20 * MINUTE_US,
        START_US + 30 * MINUTE_US,
    }
    return broker


def test_a_window_that_was_half_sent_becomes_one_final_of_all_tasks(two_tasks: Broker) -> None:
    [*widen(two_tasks, MORE)]
    for partition in range(4):
        send(two_tasks, partition, 25)
        send(two_tasks, partition, 70)
        send(two_tasks, partition, 70, ROAD)
    fold(two_tasks, MORE)
    finals = published(two_tasks)
    assert {final: n for final, n in finals.items() if final[0] == 20} == {(20, hub, 7): 1 for hub in HUBS}
    assert set(finals.values()) == {1}


def test_a_new_task_takes_nothing_for_a_window_that_was_published(two_tasks: Broker) -> None:
    [*widen(two_tasks, MORE)]
    for partition in (2, 3):
        send(two_tasks, partition, 5)
    tasks = fold(two_tasks, MORE)
    assert tasks[2].core is not None
    assert tasks[2].core.state.marker.views[HUB_LOAD.name].fates[AIR].late == len(HUBS)
    assert len(values(two_tasks, names.late_topic("app"))) == 2 * len(HUBS)
    for partition in range(4):
        send(two_tasks, partition, 90)
        send(two_tasks, partition, 90, ROAD)
    fold(two_tasks, MORE)
    assert set(published(two_tasks).values()) == {1}


def test_where_a_new_task_begins_is_told_to_every_recomputation(two_tasks: Broker) -> None:
    [*widen(two_tasks, MORE)]
    told = [Advance(**json.loads(value)) for value in values(two_tasks, names.advances_topic("app"))]
    lowest_us = START_US + 49 * MINUTE_US
    assert sorted(told) == [Advance(topic, partition, 0, lowest_us) for topic in (AIR, ROAD) for partition in (2, 3)]


def test_a_window_that_was_closed_by_a_smaller_grace_stays_closed_in_a_new_task(two_tasks: Broker) -> None:
    [*widen(two_tasks, replace(MORE, views=(replace(HUB_LOAD, grace_seconds=3600),)))]
    (epoch,) = last_markers(two_tasks, MORE)[2].views[HUB_LOAD.name].graces[AIR]
    assert (epoch.grace_seconds, epoch.floor_us) == (3600, START_US + 20 * MINUTE_US)


@pytest.mark.parametrize(
    ("before", "at_widening", "after"),
    [
        (HUB_LOAD, LONG, LONG),
        (HUB_LOAD, replace(LONG, name="renamed"), replace(LONG, name="renamed")),
        (OTHER, OTHER, LONG),
        (LIGHT, LIGHT, LONG),
        (LIGHT, LIGHT, HUB_LOAD),
    ],
    ids=["as it was", "renamed", "left out", "replaced", "replaced, with the same grace"],
)
@pytest.mark.parametrize("written", [0, 3])
def test_whatever_a_view_was_when_tasks_were_added_and_becomes_then_no_final_is_told_twice(
    two_tasks: Broker, before: View, at_widening: View, after: View, written: int
) -> None:
    def of(view: View, count: int) -> TaskDefinition:
        return TaskDefinition("app", (PARCELS,), (view,), finals=(view.name,), task_count=count)

    fold(two_tasks, of(before, 2))
    [*islice(widen(two_tasks, of(at_widening, 4)), written)]
    [*widen(two_tasks, of(at_widening, 4))]
    fold(two_tasks, of(at_widening, 4))
    for minute in (5, 15):
        send(two_tasks, 3, minute)
    fold(two_tasks, of(after, 4))
    for partition in range(4):
        send(two_tasks, partition, 200)
        send(two_tasks, partition, 200, ROAD)
    fold(two_tasks, of(after, 4))
    finals = Counter[tuple[int, int]]()
    for name in {HUB_LOAD.name, after.name}:
        told = finals_told(two_tasks, replace(HUB_LOAD, name=name))
        finals.update((one["window_start_us"], one["hub"]) for one in told)
    assert set(finals.values()) == {1}
    assert len(finals) == 5 * len(HUBS)


def test_what_waits_of_a_view_that_comes_back_is_published_though_nothing_comes_any_more() -> None:
    """The new task began while no release declared it."""
    broker, few = Broker(partitions=1), replace(FEW, task_count=1)
    send_everywhere(broker, 0, 55)
    task = task_of(broker, few, 0)
    while len(values(broker, few.closings)) < len(HUBS):
        task.step()
    assert not published(broker)
    [*widen(broker, replace(few, views=(OTHER,), finals=(OTHER.name,), task_count=2))]
    fold(broker, replace(few, task_count=2))
    assert published(broker) == of_window(0, 2)


def test_nothing_is_closed_in_a_new_task_while_one_of_the_others_has_never_begun() -> None:
    broker = Broker(partitions=2)
    send(broker, 0, 55)
    run_until_idle([task_of(broker, FEW, 0)])
    assert set(last_markers(broker, FEW)) == {0}
    [*widen(broker, MORE)]
    markers = last_markers(broker, MORE)
    assert set(markers) == {0, 1, 2, 3}
    assert {markers[p].inputs[AIR].watermark_us for p in (1, 2, 3)} == {NO_WATERMARK}
    assert {marker.closing_partitions for marker in markers.values()} == {2}


@pytest.mark.parametrize("written", range(5))
def test_broken_off_it_is_refused_until_it_is_done_again(two_tasks: Broker, written: int) -> None:
    """0: before the first marker, 1 and 2: tasks that were, 3 and 4: new ones."""
    [*islice(widen(two_tasks, MORE), written)]
    if written < 4:
        two_tasks.partitions = 4
        with pytest.raises(StateError, match="flagfall widen"):
            fold(two_tasks, MORE)
    [*widen(two_tasks, MORE)]
    assert is_wide(MORE, last_markers(two_tasks, MORE))
    assert [*widen(two_tasks, MORE)] == []
    for partition in range(4):
        send(two_tasks, partition, 90)
        send(two_tasks, partition, 90, ROAD)
    fold(two_tasks, MORE)
    finals = published(two_tasks)
    assert finals == of_window(0, 4) + of_window(10, 4) + of_window(20, 4) + of_window(40, 2) + of_window(50, 2)


def test_twice_widened_closed_rows_go_where_they_went(two_tasks: Broker) -> None:
    [*widen(two_tasks, replace(MORE, task_count=3))]
    fold(two_tasks, replace(MORE, task_count=3))
    [*widen(two_tasks, MORE)]
    told = {(marker.tasks, marker.closing_partitions) for marker in last_markers(two_tasks, MORE).values()}
    assert told == {(4, 2)}


def test_tasks_of_another_number_are_refused_in_words(two_tasks: Broker) -> None:
    with pytest.raises(StateError, match=r"task [01] of parcels is one of 2, and 3 are wanted: .*`flagfall widen`"):
        fold(two_tasks, replace(FEW, task_count=3))


def test_a_task_of_an_earlier_release_is_believed_but_not_widened(two_tasks: Broker) -> None:
    of_earlier: Marker = replace(last_markers(two_tasks, FEW)[0], tasks=0, closing_partitions=0)
    assert is_wide(FEW, {0: of_earlier})
    with pytest.raises(StateError, match="task 0 of parcels was last held by an earlier release"):
        tell_count(MORE, of_earlier)


def test_partitions_are_not_taken_back(two_tasks: Broker) -> None:
    marker = last_markers(two_tasks, FEW)[1]
    with pytest.raises(StateError, match="task 1 of parcels is one of 2, more than the 1 that are wanted"):
        tell_count(replace(FEW, task_count=1), marker)


def test_a_group_that_has_never_begun_is_as_wide_as_its_topics(two_tasks: Broker) -> None:
    assert is_wide(MORE, {})
    begun = begin(FEW, 0, task_of(two_tasks, FEW, 0).starts(), [], "id").marker
    assert (begun.tasks, begun.closing_partitions, begun.inputs[AIR].watermark_us) == (2, 2, NO_WATERMARK)
