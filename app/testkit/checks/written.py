"""What tasks have written to topics of output, in the shape in which it is compared with what they should have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from app.codecs.batches.origin_headers import (
    OFFSET,
    PARTITION,
    TIMESTAMP_MS,
    TOPIC,
)
from app.domain.fingerprint import unpack
from app.domain.records import TopicPartition
from app.engine.core.task_state import TaskState
from app.testkit.checks.expected import Expected, RecordPlace
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.simulation.inputs import Fact
from app.testkit.simulation.world import World

Settled = Sequence[tuple[TaskState, Expected]]


"""All tasks at the end of a history, and what is expected of each."""


def fact_place(expected: Expected, packed: int) -> RecordPlace:
    origin = unpack(packed)
    topics = {topic.number: topic.name for f in expected.facts for topic in f.sample.source.topics}
    return topics[origin.topic_number], origin.offset


def as_refused(fact: Fact, *why: tuple[str, str]) -> Any:
    return refused_output(fact.place, fact.offset, fact.sample.sent, *why)


def refused_output(place: TopicPartition, offset: int, sent: SentRecord, *why: tuple[str, str]) -> Any:
    """Key, value and headers of a refused record as its output must hold them."""
    told = (
        (TOPIC, place.topic),
        (PARTITION, str(place.partition)),
        (OFFSET, str(offset)),
        (TIMESTAMP_MS, str(sent.timestamp_ms)),
        *why,
    )
    return sent.key, sent.value, (*sent.headers, *((name, value.encode()) for name, value in told))


def written(world: World, topic: str) -> Counter[Any]:
    entries = (entry.record for _, entry in world.broker.committed(topic) if entry.record is not None)
    return Counter((record.key, record.value, record.headers) for record in entries)


def multiset_problems(what: str, wanted: Counter[Any], found: Counter[Any]) -> Iterator[str]:
    for record in (wanted - found).elements():
        yield f"{what} record not written: {record}"
    for record in (found - wanted).elements():
        yield f"{what} record written once too often: {record}"
