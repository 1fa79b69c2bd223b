"""What a new release finds in the state of the one before, whichever worker wrote it last."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from app.domain.alert import Alert
from app.domain.errors import StateError
from app.domain.fold import RowKey
from app.domain.records import TopicPartition
from app.domain.view import View
from app.engine.core.definition import TaskDefinition
from app.testkit.broker import Broker
from app.testkit.encoding import encode
from app.testkit.parcels import CARRIERS, HUB_LOAD, MINUTE_US, PARCELS, SKEW_SECONDS, STUCK
from app.testkit.partition_log import Sent
from app.testkit.received import stored_rows
from app.testkit.releases import alert_over
from app.testkit.samples import SCHEMA_IDS, SCHEMAS, START_US, WRITTEN_IDS
from app.testkit.simulated_task import SimulatedTask, run_until_idle


@pytest.fixture
def broker() -> Broker:
    return Broker(partitions=1)


def send(broker: Broker, minute: int) -> None:
    at_us = START_US + minute * MINUTE_US
    value = encode(PARCELS, SCHEMA_IDS[PARCELS.name], {"parcel_id": "p", "hub": 1, "scanned_at_us": at_us})
    broker.produce(TopicPartition("parcels.air", 0), Sent(None, value, (), at_us // 1000))


def take_over(broker: Broker, *views: View) -> SimulatedTask:
    """A worker of a release that has these views, with nothing left to do."""
    task = SimulatedTask(broker, TaskDefinition("app", (PARCELS,), views), 0, SCHEMAS, random.Random(1))
    run_until_idle([task])
    return task


def counts(task: SimulatedTask, view: View) -> dict[RowKey, int]:
    assert task.core is not None
    return {key: cells[0] for key, cells in stored_rows(task.core.state.views[view.name]).items()}


def test_a_new_view_reads_again_what_its_task_has_read(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker, CARRIERS)
    send(broker, 1)
    task = take_over(broker, CARRIERS, HUB_LOAD)
    assert counts(task, HUB_LOAD) == {RowKey(START_US, (1,)): 2}


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


def watch(broker: Broker, *alerts: Alert) -> SimulatedTask:
    """A worker of a release that has these alerts."""
    definition = TaskDefinition("app", (PARCELS,), (CARRIERS,), schema_ids=WRITTEN_IDS, alerts=alerts)
    task = SimulatedTask(broker, definition, 0, SCHEMAS, random.Random(1))
    run_until_idle([task])
    return task


def test_a_new_alert_begins_where_its_task_is(broker: Broker) -> None:
    send(broker, 0)
    watch(broker)
    send(broker, 1)
    core = watch(broker, STUCK).core
    assert core is not None
    position = core.state.marker.alerts[STUCK.name]
    assert position.start == {"parcels.air": 1}
    assert sum(fates.total for fates in position.fates.values()) == 1


def test_an_alert_that_a_release_did_not_keep_is_refused_in_words(broker: Broker) -> None:
    send(broker, 0)
    watch(broker, STUCK)
    watch(broker)
    watch(broker, STUCK)  # nothing was missed
    send(broker, 1)
    watch(broker)
    with pytest.raises(StateError, match=r"alert 'stuck_hubs' was not kept from .* an alert cannot be built anew"):
        watch(broker, STUCK)


def test_an_alert_whose_grace_changed_is_refused_in_words_unless_it_is_another(broker: Broker) -> None:
    send(broker, 0)
    watch(broker, STUCK)
    patient = replace(STUCK, grace_seconds=STUCK.grace_seconds + 1)
    with pytest.raises(StateError, match=r"alert 'stuck_hubs' was .* and is .* now: its bound, grace, halves"):
        watch(broker, patient)
    core = watch(broker, replace(patient, number=STUCK.number + 1)).core
    assert core is not None
    assert core.state.marker.alerts[STUCK.name].start == {"parcels.air": 1}


def test_an_alert_goes_on_when_its_source_s_skew_changes(broker: Broker) -> None:
    send(broker, 0)
    watch(broker, STUCK)
    lenient = replace(PARCELS, skew_seconds=2 * SKEW_SECONDS)
    alerts = (alert_over(STUCK, {lenient.name: lenient}),)
    definition = TaskDefinition("app", (lenient,), (), schema_ids=WRITTEN_IDS, alerts=alerts)
    task = SimulatedTask(broker, definition, 0, SCHEMAS, random.Random(1))
    run_until_idle([task])
    assert task.core is not None
    marker = task.core.state.marker
    assert marker.alerts[STUCK.name].version == STUCK.version
    assert [epoch.skew_seconds for epoch in marker.inputs["parcels.air"].skews] == [SKEW_SECONDS, 2 * SKEW_SECONDS]
