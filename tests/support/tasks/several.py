"""Several tasks on a simulated cluster: the parcels of some hubs, and what was published of all."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence

from app.base import names
from app.domain.records import TopicPartition
from app.domain.view import View
from app.engine.core.definition import TaskDefinition
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.cluster.until_idle import run_until_idle
from app.testkit.encoding import encode
from app.testkit.simulation.parcels import MINUTE_US, PARCELS
from app.testkit.simulation.samples import SCHEMA_IDS, SCHEMAS, START_US
from tests.support.tasks.mended import values

HUBS = range(1, 9)
AIR, ROAD = (topic.name for topic in PARCELS.topics)


def send(broker: Broker, partition: int, minute: int, topic: str = AIR, hubs: Sequence[int] = HUBS) -> None:
    """A parcel of each hub, scanned at a minute."""
    at_us = START_US + minute * MINUTE_US
    for hub in hubs:
        parcel = {"parcel_id": "p", "hub": hub, "carrier": "dhl", "scanned_at_us": at_us, "delivered_at_us": at_us}
        sent = SentRecord(None, encode(PARCELS, SCHEMA_IDS[PARCELS.name], parcel), (), at_us // 1000)
        broker.produce(TopicPartition(topic, partition), sent)


def send_everywhere(broker: Broker, *minutes: int) -> None:
    for partition in range(broker.partitions):
        for minute in minutes:
            for topic in (AIR, ROAD):
                send(broker, partition, minute, topic)


def task_of(broker: Broker, definition: TaskDefinition, partition: int) -> SimulatedTask:
    return SimulatedTask(broker, definition, partition, SCHEMAS, random.Random(partition))


def fold(broker: Broker, *definitions: TaskDefinition) -> list[SimulatedTask]:
    """All tasks, each by the release that holds it, the last one all others; with nothing left to do."""
    held = [definitions[min(p, len(definitions) - 1)] for p in range(broker.partitions)]
    tasks = [task_of(broker, definition, partition) for partition, definition in enumerate(held)]
    run_until_idle(tasks)
    return tasks


def finals_told(broker: Broker, view: View) -> list[dict[str, int]]:
    """Final rows of this version, as they were published."""
    told = map(json.loads, values(broker, names.finals_topic(view.name)))
    return [one for one in told if one["version"] == view.version]


def minute_of(at_us: int) -> int:
    return (at_us - START_US) // MINUTE_US


def counted(broker: Broker, view: View) -> list[tuple[int, int]]:
    """Of each window in order: minute, and the parcels in all its finals. No final may be there twice."""
    told = finals_told(broker, view)
    keys = Counter((one["window_start_us"], *(one[group.name] for group in view.groups)) for one in told)
    assert set(keys.values()) <= {1}, keys
    of_window = Counter[int]()
    for one in told:
        of_window[minute_of(one["window_start_us"])] += one["count"]
    return sorted(of_window.items())
