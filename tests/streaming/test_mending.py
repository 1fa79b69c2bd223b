"""Tasks whose topics lost what they had not read yet: mended while no worker runs, on the simulated cluster."""

from __future__ import annotations

import random

import pytest

from app.codecs.changelog import marker_key
from app.codecs.marker import decode_marker
from app.domain.errors import StateError
from app.domain.fold import RowKey
from app.domain.marker import InputPosition, Lost, Marker
from app.domain.records import TopicPartition
from app.domain.view import View
from app.engine.core.accepting import accept, gaps_of
from app.engine.core.batch import Transaction
from app.engine.core.definition import TaskDefinition
from app.testkit.broker import Broker
from app.testkit.encoding import encode
from app.testkit.parcels import CARRIERS, HUB_LOAD, MINUTE_US, PARCELS
from app.testkit.partition_log import Sent
from app.testkit.received import stored_rows
from app.testkit.samples import SCHEMA_IDS, SCHEMAS, START_US
from app.testkit.simulated_task import SimulatedTask, run_until_idle

AIR = "parcels.air"
DEFINITION = TaskDefinition("app", (PARCELS,), (HUB_LOAD, CARRIERS))


@pytest.fixture
def broker() -> Broker:
    return Broker(partitions=1)


def send(broker: Broker, *minutes: int) -> None:
    for minute in minutes:
        at_us = START_US + minute * MINUTE_US
        parcel = {"parcel_id": "p", "hub": 1, "scanned_at_us": at_us, "delivered_at_us": at_us}
        value = encode(PARCELS, SCHEMA_IDS[PARCELS.name], parcel)
        broker.produce(TopicPartition(AIR, 0), Sent(None, value, (), at_us // 1000))


def new_task(broker: Broker) -> SimulatedTask:
    return SimulatedTask(broker, DEFINITION, 0, SCHEMAS, random.Random(1))


def take_over(broker: Broker) -> SimulatedTask:
    """A worker with nothing left to do."""
    task = new_task(broker)
    run_until_idle([task])
    return task


def last_marker(task: SimulatedTask) -> Marker:
    stored = [e.record for e in task.changelog.committed() if e.record is not None]
    key = marker_key(DEFINITION.number)
    return decode_marker([record.value or b"" for record in stored if record.key == key][-1])


def write(task: SimulatedTask, transaction: Transaction) -> None:
    """As `app.engine.drive.mending` does, in the place of a worker."""
    producer = task.fence()
    for key, value in transaction.changelog:
        producer.send(TopicPartition(task.changelog.topic, 0), Sent(key, value))
    for output in transaction.outputs:
        producer.send(TopicPartition(output.topic, 0), Sent(output.key, output.value))
    producer.commit()
    while task.broker.mark_one(task.transactional_id):
        pass


def accept_loss(broker: Broker) -> dict[str, Lost]:
    task = new_task(broker)
    marker = last_marker(task)
    gaps = gaps_of(marker, task.starts())
    write(task, accept(DEFINITION, marker, gaps))
    return gaps


def counts(task: SimulatedTask, view: View) -> dict[RowKey, int]:
    assert task.core is not None
    return {key: cells[0] for key, cells in stored_rows(task.core.state.views[view.name]).items()}


def position(task: SimulatedTask) -> InputPosition:
    assert task.core is not None
    return task.core.state.marker.inputs[AIR]


def test_a_task_goes_on_behind_a_loss_that_was_accepted_and_its_ledger_tells_of_the_gap(broker: Broker) -> None:
    send(broker, 0, 1)
    take_over(broker)
    send(broker, 2, 3, 4)
    broker.log(AIR, 0).delete_below(4)
    with pytest.raises(StateError, match="begins at 4, behind the state"):
        take_over(broker)
    assert accept_loss(broker) == {AIR: Lost(2, 4)}
    task = take_over(broker)
    assert counts(task, HUB_LOAD) == {RowKey(START_US, (1,)): 3}
    at = position(task)
    assert (at.start_offset, at.next_offset, at.decoded, at.lost_offsets, at.adds_up) == (0, 5, 3, 2, True)


def test_each_loss_that_was_accepted_stays_in_the_ledger(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker)
    for minute in (1, 3):
        send(broker, minute, minute + 1)
        broker.log(AIR, 0).delete_below(broker.log(AIR, 0).end - 1)
        accept_loss(broker)
        take_over(broker)
    at = position(take_over(broker))
    assert at.lost == (Lost(1, 2), Lost(3, 4))
    assert at.adds_up


def test_a_topic_that_holds_other_records_now_has_lost_nothing_that_could_be_accepted(broker: Broker) -> None:
    send(broker, 0)
    task = take_over(broker)
    anew = {topic: InputPosition("another", 100, 100) for topic in DEFINITION.topics}
    assert gaps_of(last_marker(task), anew) == {}


def test_a_loss_that_is_accepted_twice_is_accepted_once(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker)
    send(broker, 1, 2)
    broker.log(AIR, 0).delete_below(2)
    accept_loss(broker)
    assert accept_loss(broker) == {}
