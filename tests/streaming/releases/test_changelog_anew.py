"""A changelog that is deleted and made again under its tasks: whoever takes one over never takes it for a first."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from app.base import names
from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import decode_marker, encode_marker
from app.domain.errors import StateError
from app.domain.marker import Marker
from app.domain.records import TopicPartition
from app.engine.core.definition import TaskDefinition
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.cluster.until_idle import run_until_idle
from app.testkit.encoding import encode
from app.testkit.simulation.parcels import CARRIERS, HUB_LOAD, PARCELS
from app.testkit.simulation.samples import SCHEMA_IDS, SCHEMAS, START_US

DEFINITION = TaskDefinition("app", (PARCELS,), (HUB_LOAD, CARRIERS), finals=("hub_load",), task_count=1)
CHANGELOG = names.changelog_topic("app", PARCELS.name)


def send(broker: Broker) -> None:
    parcel = {"parcel_id": "p", "hub": 1, "scanned_at_us": START_US, "delivered_at_us": START_US}
    value = encode(PARCELS, SCHEMA_IDS[PARCELS.name], parcel)
    broker.produce(TopicPartition("parcels.air", 0), SentRecord(None, value, (), START_US // 1000))


def take_over(broker: Broker) -> SimulatedTask:
    """A worker with nothing left to do."""
    task = SimulatedTask(broker, DEFINITION, 0, SCHEMAS, random.Random(1))
    run_until_idle([task])
    return task


def test_a_changelog_that_was_made_anew_between_two_workers_is_not_taken_for_a_first(broker: Broker) -> None:
    send(broker)
    take_over(broker)
    broker.create_anew(CHANGELOG)
    with pytest.raises(StateError, match=r"changelog-0: the changelog was created anew \(id simulated-1, the task's"):
        take_over(broker)


def test_a_changelog_that_was_made_anew_under_a_worker_that_wrote_on_is_refused_by_the_next(broker: Broker) -> None:
    send(broker)
    worker = take_over(broker)
    broker.create_anew(CHANGELOG)
    send(broker)
    run_until_idle([worker])
    with pytest.raises(StateError, match=r"was created anew \(id simulated-1, the task's was simulated\)"):
        take_over(broker)


def test_a_task_that_had_stored_nothing_begins_in_whatever_changelog_there_is(broker: Broker) -> None:
    take_over(broker)
    broker.create_anew(CHANGELOG)
    send(broker)
    task = take_over(broker)
    assert task.core is not None
    assert task.core.state.marker.changelog_id == broker.topic_id(CHANGELOG)


def test_a_changelog_that_was_emptied_is_refused_though_it_is_the_same(broker: Broker) -> None:
    send(broker)
    task = take_over(broker)
    task.changelog.delete_below(task.changelog.end)
    with pytest.raises(StateError, match="the changelog holds no marker any more"):
        take_over(broker)


def test_a_marker_that_names_no_changelog_is_completed_before_another_record_comes(broker: Broker) -> None:
    """As those of before layout 6."""
    send(broker)
    forget_the_changelog(take_over(broker))
    task = take_over(broker)
    assert last_marker(task).changelog_id == broker.topic_id(CHANGELOG)
    broker.create_anew(CHANGELOG)
    with pytest.raises(StateError, match="the changelog was created anew"):
        take_over(broker)


def forget_the_changelog(task: SimulatedTask) -> None:
    """What the log and the topic beside it say is what a release before layout 6 would have left."""
    task.broker.create_anew(names.begun_topic("app"))
    marker = encode_marker(replace(last_marker(task), changelog_id=""))
    producer = task.fence()
    producer.send(TopicPartition(CHANGELOG, 0), SentRecord(marker_key(DEFINITION.number), marker))
    producer.commit()
    while task.broker.mark_one(task.transactional_id):
        pass


def last_marker(task: SimulatedTask) -> Marker:
    stored = [e.record for e in task.changelog.committed() if e.record is not None]
    return decode_marker([r.value or b"" for r in stored if r.key == marker_key(DEFINITION.number)][-1])
