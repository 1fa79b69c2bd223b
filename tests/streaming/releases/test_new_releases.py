"""What a new release finds in the state of the one before, whichever worker wrote it last."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from app.base import names
from app.codecs.stored.row_keys import row_prefix
from app.domain.marker import BUILDING, LIVE, ViewPosition
from app.domain.records import TopicPartition
from app.domain.rows import RowKey
from app.domain.view import View
from app.edge.http.rows.own_parts import serves
from app.engine.core import clearing
from app.engine.core.definition import TaskDefinition
from app.engine.core.task_state import TaskState
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.cluster.until_idle import run_until_idle
from app.testkit.simulation.parcels import CARRIERS, HUB_LOAD, MINUTE_US, PARCELS, ROUNDS
from app.testkit.simulation.samples import SCHEMAS, START_US
from tests.support.tasks.mended import counts, rebuild, send


def take_over(broker: Broker, *views: View) -> SimulatedTask:
    """A worker of a release that has these views, with nothing left to do."""
    task = SimulatedTask(broker, TaskDefinition("app", (PARCELS,), views), 0, SCHEMAS, random.Random(1))
    run_until_idle([task])
    return task


def test_a_new_view_reads_again_what_its_task_has_read(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker, CARRIERS)
    send(broker, 1)
    task = take_over(broker, CARRIERS, HUB_LOAD)
    assert counts(task, HUB_LOAD) == {RowKey(START_US, (1,)): 2}


@pytest.mark.parametrize("value", [None, b"junk", b"[]", b"{}", b'{"topic":1,"partition":0,"at_offset":0}', b"\xff"])
def test_what_no_task_wrote_among_its_advances_stops_no_view_that_reads_them_again(
    broker: Broker, value: bytes | None
) -> None:
    broker.produce(TopicPartition(names.advances_topic("app"), 0), SentRecord(b"k", value))
    send(broker, 0)
    take_over(broker, CARRIERS)
    assert counts(take_over(broker, CARRIERS, HUB_LOAD), HUB_LOAD) == {RowKey(START_US, (1,)): 1}


def test_a_view_that_is_dropped_leaves_the_others_alone(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker, CARRIERS, HUB_LOAD)
    send(broker, 1)
    assert counts(take_over(broker, CARRIERS), CARRIERS) == {RowKey(None, (None,)): 2}


def test_a_view_that_an_older_release_did_not_fold_is_made_whole(broker: Broker) -> None:
    """A rolling deployment, or one that was rolled back: new, old and new release have the task in turn."""
    send(broker, 0)
    take_over(broker, CARRIERS, HUB_LOAD)
    send(broker, 1)
    take_over(broker, CARRIERS)
    send(broker, 2)
    task = take_over(broker, CARRIERS, HUB_LOAD)
    assert counts(task, HUB_LOAD) == {RowKey(START_US, (1,)): 3}


def test_a_view_that_missed_nothing_is_live_at_once(broker: Broker) -> None:
    """No record came while it was away: there is nothing to wait for."""
    send(broker, 0)
    take_over(broker, CARRIERS, HUB_LOAD)
    take_over(broker, CARRIERS)
    task = take_over(broker, CARRIERS, HUB_LOAD)
    assert (position(task, HUB_LOAD).state, position(task, HUB_LOAD).built) == (LIVE, {})
    send(broker, 1)
    assert counts(take_over(broker, CARRIERS, HUB_LOAD), HUB_LOAD) == {RowKey(START_US, (1,)): 2}


def test_a_task_without_a_record_answers_for_a_view_that_comes_back(broker: Broker) -> None:
    for views in ((CARRIERS, HUB_LOAD), (CARRIERS,), (CARRIERS, HUB_LOAD)):
        task = take_over(broker, *views)
    assert (position(task, HUB_LOAD).state, counts(task, HUB_LOAD)) == (LIVE, {})


def test_a_view_waits_for_no_topic_in_which_it_missed_nothing(broker: Broker) -> None:
    """One topic of its source has a record that it missed, the other has none at all."""
    take_over(broker, CARRIERS, HUB_LOAD)
    take_over(broker, CARRIERS)
    send(broker, 0)
    take_over(broker, CARRIERS)
    task = take_over(broker, CARRIERS, HUB_LOAD)
    assert len(HUB_LOAD.source.topics) > 1
    assert (position(task, HUB_LOAD).state, counts(task, HUB_LOAD)) == (LIVE, {RowKey(START_US, (1,)): 1})


def test_a_view_is_live_where_the_log_holds_nothing_that_its_task_has_read(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker, CARRIERS)
    broker.log("parcels.air", 0).delete_below(1)
    task = take_over(broker, CARRIERS, HUB_LOAD)
    assert (position(task, HUB_LOAD).state, counts(task, HUB_LOAD)) == (LIVE, {})


def test_a_view_that_comes_back_is_live_where_the_log_was_deleted_meanwhile(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker, CARRIERS, HUB_LOAD)
    take_over(broker, CARRIERS)
    broker.log("parcels.air", 0).delete_below(1)
    task = take_over(broker, CARRIERS, HUB_LOAD)
    assert (position(task, HUB_LOAD).state, counts(task, HUB_LOAD)) == (LIVE, {RowKey(START_US, (1,)): 1})


LIGHT = replace(HUB_LOAD, measures=HUB_LOAD.measures[:1])
RENAMED, RENUMBERED = replace(HUB_LOAD, name="other"), replace(HUB_LOAD, number=77)


@pytest.mark.parametrize("between", [LIGHT, RENUMBERED, RENAMED], ids=["changed", "renumbered", "renamed"])
def test_a_view_that_comes_back_has_none_of_the_rows_that_it_had(broker: Broker, between: View) -> None:
    """What was before it left is counted once, as what came while it was away."""
    send(broker, 0)
    take_over(broker, HUB_LOAD)
    send(broker, 1)
    assert counts(take_over(broker, between), between) == {RowKey(START_US, (1,)): 2}
    send(broker, 2)
    task = take_over(broker, HUB_LOAD)
    assert counts(task, HUB_LOAD) == {RowKey(START_US, (1,)): 3}
    assert position(task, HUB_LOAD).fates["parcels.air"].applied == 3
    assert counts(take_over(broker, HUB_LOAD), HUB_LOAD) == {RowKey(START_US, (1,)): 3}


def test_a_view_that_is_only_renamed_goes_on_with_its_rows(broker: Broker) -> None:
    """It reads nothing again, so it does not matter that the log has lost what it counts."""
    send(broker, 0)
    take_over(broker, HUB_LOAD)
    broker.log("parcels.air", 0).delete_below(1)
    send(broker, 1)
    task = begun(broker, RENAMED)
    assert position(task, RENAMED).state == LIVE
    assert counts(take_over(broker, RENAMED), RENAMED) == {RowKey(START_US, (1,)): 2}
    task = take_over(broker, HUB_LOAD)
    assert counts(task, HUB_LOAD) == {RowKey(START_US, (1,)): 2}


def test_a_changed_view_is_built_beside_the_old_one_and_takes_its_name_when_it_is_whole(broker: Broker) -> None:
    """The old one goes on when it comes back, whatever the log has lost since."""
    beside = replace(LIGHT, name="hub_load_2", number=77)
    send(broker, 0)
    take_over(broker, HUB_LOAD)
    send(broker, 1)
    task = take_over(broker, HUB_LOAD, beside)
    assert counts(task, HUB_LOAD) == counts(task, beside) == {RowKey(START_US, (1,)): 2}
    switched = replace(beside, name=HUB_LOAD.name)
    task = begun(broker, switched)
    assert task.core is not None
    assert (position(task, switched).state, serves(task.core.state, switched)) == (LIVE, True)
    broker.log("parcels.air", 0).delete_below(2)
    send(broker, 2)
    assert counts(take_over(broker, switched), switched) == {RowKey(START_US, (1,)): 3}
    task = take_over(broker, HUB_LOAD, beside)
    assert counts(task, HUB_LOAD) == counts(task, beside) == {RowKey(START_US, (1,)): 3}


def test_rows_that_a_view_had_and_will_not_have_again_are_deleted_before_it_is_built(broker: Broker) -> None:
    """What the log has lost meanwhile was counted by what the view was, and is not by what it is: a rebuild knows those
    alone that are declared."""
    for minute in (0, 30, 60):
        send(broker, minute)
    take_over(broker, HUB_LOAD)
    take_over(broker, LIGHT)
    broker.log("parcels.air", 0).delete_below(2)
    rebuild(broker)
    task = take_over(broker, HUB_LOAD)
    assert counts(task, HUB_LOAD) == {RowKey(START_US + 60 * MINUTE_US, (1,)): 1}
    task.changelog.compact(task.changelog.end, tombstones=True)
    stored = [e.record.key for e in task.changelog.committed() if e.record is not None]
    assert sum(key.startswith(row_prefix(HUB_LOAD)) for key in stored if key is not None) == 1


def test_a_view_that_comes_back_answers_no_query_before_it_is_built(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker, HUB_LOAD)
    take_over(broker, LIGHT)
    send(broker, 1)
    take_over(broker, LIGHT)
    task = begun(broker, HUB_LOAD)
    assert task.core is not None
    states = [position(task, HUB_LOAD).state]
    assert not serves(task.core.state, HUB_LOAD)
    while not serves(task.core.state, HUB_LOAD):
        task.step()
        if position(task, HUB_LOAD).state != states[-1]:
            states.append(position(task, HUB_LOAD).state)
    assert states == [BUILDING, LIVE]
    assert counts(task, HUB_LOAD) == {RowKey(START_US, (1,)): 2}


RELEASES = ((HUB_LOAD, ROUNDS), (LIGHT, ROUNDS), (HUB_LOAD,), (RENAMED, CARRIERS), (CARRIERS,), (ROUNDS, RENUMBERED))


@pytest.mark.parametrize("seed", range(40))
def test_whatever_releases_come_and_go_and_wherever_they_are_killed_a_view_holds_each_record_once(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Some workers come back with the state that they had, others with none."""
    monkeypatch.setattr(clearing, "CLEARED_ROWS", 1)
    draws, kept, sent = random.Random(seed), dict[int, TaskState](), list[int]()
    for _ in range(12):
        for _ in range(draws.randint(0, 3)):
            sent.append(draws.randint(0, 90))
            send(broker, sent[-1])
        which = draws.randrange(len(RELEASES))
        definition = TaskDefinition("app", (PARCELS,), RELEASES[which])
        task = SimulatedTask(broker, definition, 0, SCHEMAS, draws, kept.pop(which, None))
        task.step()
        kept.pop(which, None)
        for _ in range(draws.choice((0, 5, 10, 20, 40, 80))):
            task.step()
        if task.core is not None and not task.is_writing and draws.random() < 0.5:
            kept[which] = task.core.state
    views = (HUB_LOAD, ROUNDS)
    task = take_over(broker, *views)
    assert task.core is not None
    late = sum(position(task, HUB_LOAD).fates[topic].late for topic in position(task, HUB_LOAD).fates)
    assert sum(counts(task, HUB_LOAD).values()) + late == len(sent)
    for view in views:
        assert counts(task, view) == counts(fresh(broker, view), view)


def begun(broker: Broker, *views: View) -> SimulatedTask:
    """A worker that has read its state and done nothing yet."""
    task = SimulatedTask(broker, TaskDefinition("app", (PARCELS,), views), 0, SCHEMAS, random.Random(1))
    while task.core is None:
        task.step()
    return task


def position(task: SimulatedTask, view: View) -> ViewPosition:
    assert task.core is not None
    return task.core.state.marker.views[view.name]


def fresh(broker: Broker, view: View) -> SimulatedTask:
    """Another application, which knows nothing of what was before."""
    task = SimulatedTask(broker, TaskDefinition("fresh", (PARCELS,), (view,)), 0, SCHEMAS, random.Random(1))
    run_until_idle([task])
    return task
