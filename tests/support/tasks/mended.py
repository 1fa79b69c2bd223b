"""A task on a simulated cluster that no worker holds: broken, looked at, and mended."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from types import MappingProxyType

from app.base import names
from app.codecs.stored.advance_requests import encode_request
from app.codecs.stored.changelog import decode_rows, encode_rows, marker_key
from app.codecs.stored.corrections import correction_bytes
from app.codecs.stored.marker import decode_marker
from app.codecs.stored.row_keys import row_prefix
from app.domain.advance import Advance, AdvanceRequest
from app.domain.corrections.refeed import Fed, ViewStanding, plan_refeed
from app.domain.marker import Fates, InputPosition, Marker, OffsetRange
from app.domain.records import Record, TopicPartition
from app.domain.rows import RowKey
from app.domain.view import View
from app.engine.core.definition import TaskDefinition
from app.engine.core.mending.accepting import accept, gaps_of
from app.engine.core.mending.rebuilding import LogNow, Rebuild
from app.testkit.cluster.broker import TOPIC_ID, Broker
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.cluster.until_idle import run_until_idle
from app.testkit.encoding import encode, filled
from app.testkit.received import stored_rows
from app.testkit.simulation.parcels import CARRIERS, HUB_LOAD, MINUTE_US, PARCELS
from app.testkit.simulation.samples import SCHEMA_IDS, SCHEMAS, START_US

AIR = "parcels.air"

NOTHING = LogNow(TOPIC_ID, 0, 0)

DEFINITION = TaskDefinition("app", (PARCELS,), (HUB_LOAD, CARRIERS), finals=("hub_load",), task_count=1)


def send(broker: Broker, *minutes: int) -> None:
    for minute in minutes:
        at_us = START_US + minute * MINUTE_US
        parcel = {"parcel_id": "p", "hub": 1, "scanned_at_us": at_us, "delivered_at_us": at_us}
        value = encode(PARCELS, SCHEMA_IDS[PARCELS.name], parcel)
        broker.produce(TopicPartition(AIR, 0), SentRecord(None, value, (), at_us // 1000))


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


def accept_loss(broker: Broker) -> dict[str, OffsetRange]:
    task = new_task(broker)
    marker = last_marker(task)
    gaps = gaps_of(marker, task.starts())
    task.write_in_place(accept(DEFINITION, marker, gaps))
    return gaps


def rebuild(broker: Broker, logs: Mapping[str, LogNow] = MappingProxyType({})) -> Rebuild:
    """`logs`: those that hold something else than they seem to."""
    task = new_task(broker)
    there = {topic: LogNow(TOPIC_ID, task.log(topic).start, task.log(topic).end) for topic in DEFINITION.topics}
    advances = {topic.name: advances_of(task, topic.name) for topic in PARCELS.topics}
    told = task.log(names.corrected_topic("app"))
    outcomes = LogNow(TOPIC_ID, told.start, told.end)
    begun = Rebuild(DEFINITION, last_marker(task), there | dict(logs), advances, outcomes)
    while (stretch := begun.stretch) is not None:
        begun.take(task.log(stretch.topic).fetch(stretch.from_offset, 2, until=stretch.to_offset), SCHEMAS)
    task.write_in_place(begun.transaction())
    return begun


def advances_of(task: SimulatedTask, topic: str) -> list[Advance]:
    told = (Advance(**json.loads(value)) for value in values(task.broker, names.advances_topic("app")))
    return [advance for advance in told if advance.topic == topic]


def values(broker: Broker, topic: str) -> list[bytes]:
    """Of all committed records."""
    return [entry.record.value or b"" for _, entry in broker.committed(topic) if entry.record is not None]


def ask_to_close(broker: Broker, minute: int) -> None:
    """Please raise all watermarks, behind what is there now."""
    for topic in PARCELS.topics:
        request = AdvanceRequest(topic.name, 0, START_US + minute * MINUTE_US, broker.log(topic.name, 0).end)
        broker.produce(TopicPartition(DEFINITION.advance_requests, 0), SentRecord(None, encode_request(request)))


def counts(task: SimulatedTask, view: View) -> dict[RowKey, int]:
    assert task.core is not None
    return {key: cells[0] for key, cells in stored_rows(task.core.state.views[view.name]).items()}


def position(task: SimulatedTask) -> InputPosition:
    assert task.core is not None
    return task.core.state.marker.inputs[AIR]


def corrected_tables(broker: Broker) -> None:
    """Three parcels, two of the first ten minutes; then a late one of these, which is re-fed, and one that is not."""
    send(broker, 0, 1, 12)
    ask_to_close(broker, 45)
    take_over(broker)
    send(broker, 2, 3)
    correct(broker, take_over(broker), 3)
    take_over(broker)


def correct(broker: Broker, task: SimulatedTask, offset: int) -> None:
    """Re-feed a late record."""
    assert task.core is not None
    state = task.core.state
    parcel = filled(PARCELS, {"parcel_id": "p", "hub": 1, "scanned_at_us": START_US + 2 * MINUTE_US})
    standing = ViewStanding(state.marker, stored_rows(state.views["hub_load"]), frozenset())
    (correction,) = plan_refeed(HUB_LOAD, standing, [Fed(Record(AIR, 0, offset, 0, parcel), True)], "run").corrections
    place = TopicPartition(names.corrections_topic("app", PARCELS.name), 0)
    broker.produce(place, SentRecord(None, correction_bytes(correction)))


def falsify(broker: Broker, view: View) -> None:
    """Double what every row says, in the changelog."""
    task = new_task(broker)
    rows = {e.record.key: e.record.value for e in task.changelog.committed() if e.record is not None}
    marker = marker_key(DEFINITION.number)
    producer = task.fence()
    for key, value in rows.items():
        if key is not None and key.startswith(row_prefix(view)) and value is not None:
            (falsified,) = encode_rows(decode_rows([value], len(view.cells)) * 2)
            producer.send(TopicPartition(task.changelog.topic, 0), SentRecord(key, falsified))
    producer.send(TopicPartition(task.changelog.topic, 0), SentRecord(marker, rows[marker]))
    producer.commit()
    while broker.mark_one(task.transactional_id):
        pass


def fates(task: SimulatedTask) -> Fates:
    assert task.core is not None
    return task.core.state.marker.views[HUB_LOAD.name].fates.get(AIR, Fates())
