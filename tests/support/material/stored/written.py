"""What comes into a world: rides with poison among them, what was refused of them, watermarks raised by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence

import orjson
from confluent_kafka import Producer

from app.base.names import advances_topic, quarantine_topic
from app.codecs.batches.origin_headers import OFFSET, PARTITION, REASON, TOPIC
from app.domain.advance import Advance
from app.domain.records import Record, TopicPartition
from tests.support.material.histories import SCHEMA, Log, random_log
from tests.support.material.stored.transactions import new_producer, send, transaction
from tests.support.material.stored.world import PARTITIONS, World

KEY = b"264"
ABORTED_AT_ONCE = 3


def write_random_rides(world: World, seed: int, count: int) -> None:
    """Made-up rides with poison into every topic-partition, in committed and aborted transactions."""
    rng = random.Random(seed)
    for topic in world.source.topics:
        for partition in range(PARTITIONS):
            _write_log(world, rng, random_log(rng, topic.name, partition, count))


def write_many_rides(world: World, seed: int, at: TopicPartition, count: int) -> None:
    """Made-up rides without poison among them, in one transaction."""
    log, producer = random_log(random.Random(seed), *at, count), new_producer(world)
    good = {record.offset: record for record in log.records}
    with transaction(producer):
        sent = [
            (good[offset], send(producer, at, KEY, framed(world, value), timestamp_ms))
            for offset, timestamp_ms, value in log.entries
            if offset in good
        ]
    world.records += [Record(*at, place[0], max(record.timestamp_ms, 1), record.values) for record, place in sent]


def write_poison(world: World, values: Sequence[bytes | None], timestamp_ms: int) -> list[int]:
    """Unusable values into the first topic-partition; their offsets."""
    at = TopicPartition(world.source.topics[0].name, 0)
    producer = new_producer(world)
    with transaction(producer):
        places = [send(producer, at, KEY, value, timestamp_ms) for value in values]
    world.poisoned += [at] * len(values)
    return [place[0] for place in places]


def write_refused(world: World, offsets: Sequence[int], reason: str) -> None:
    """Records of the first topic-partition into the quarantine topic, as far as anybody reads them there."""
    topic, producer = world.source.topics[0].name, new_producer(world)
    with transaction(producer):
        for offset in offsets:
            told = {TOPIC: topic, PARTITION: "0", OFFSET: str(offset), REASON: reason}
            producer.produce(quarantine_topic(world.settings.app_id), b"", headers=told)


def write_advance(world: World, advance: Advance, *, obeyed: bool = True) -> None:
    producer = new_producer(world)
    with transaction(producer):
        producer.produce(advances_topic(world.settings.app_id), orjson.dumps(advance._asdict()))
    if obeyed:
        world.advances.append(advance)


def write_junk(world: World, topic: str) -> None:
    """What nobody of ours writes, into a topic that tasks write."""
    producer = new_producer(world)
    with transaction(producer):
        for value in (None, b"", b"junk", b"[]", b"{}", b'{"topic": 1}', b"\xff"):
            producer.produce(topic, value)


def _write_log(world: World, rng: random.Random, log: Log) -> None:
    """A log's entries at the offsets that the broker gives them."""
    at, known = TopicPartition(log.topic, log.partition), {record.offset: record for record in log.records}
    entries, producer = log.entries, new_producer(world)
    while entries:
        some, entries = entries[: (size := rng.randint(1, 60))], entries[size:]
        if rng.random() < 0.4:
            with transaction(producer, commit=False):
                for _, timestamp_ms, value in some[:ABORTED_AT_ONCE]:
                    send(producer, at, KEY, framed(world, value), timestamp_ms)
        with transaction(producer):
            for offset, timestamp_ms, value in some:
                _write_one(world, producer, at, known.get(offset), timestamp_ms, value)


def _write_one(
    world: World, producer: Producer, at: TopicPartition, record: Record | None, timestamp_ms: int, value: bytes | None
) -> None:
    """A good record, or one that is poison."""
    place = send(producer, at, KEY, framed(world, value), timestamp_ms)
    producer.flush()
    if record is None:
        world.poisoned.append(at)
    else:
        world.records.append(Record(*at, place[0], max(timestamp_ms, 1), record.values))


def framed(world: World, value: bytes | None) -> bytes | None:
    """A made-up value under the schema id that the registry gave."""
    if value is None or not value.startswith(SCHEMA.header):
        return value
    return b"\0" + world.schema_id.to_bytes(4, "big") + value[len(SCHEMA.header) :]
