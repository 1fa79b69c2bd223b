"""The producer and what writes rides with it, on a real broker."""

from __future__ import annotations

import json
import random

import pytest

from app.base.errors import DeliveryFailed
from app.base.kafka.producer import Producer
from app.base.kafka.topic import Topic
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.definitions.registered import register_schemas
from app.domain.records import TopicPartition
from app.rides.closing import request_advances
from app.rides.generator.generator import Generator
from app.rides.pace import Pace
from app.rides.produce import write_rides
from app.rides.ride import RIDES
from app.topics import source_topics, topics
from tests.support.topics import read_partition


def a_topic(settings: Settings, **config: str) -> Topic:
    topic = Topic(f"{settings.app_id}.t", "text", "bytes", 4, 1, "delete", "for a test", config=config)
    create_topics(settings.kafka, [topic])
    return topic


def test_keys_are_placed_as_java_clients_place_them(settings: Settings) -> None:
    """murmur2 of the key's bytes, sign bit off, modulo 4: computed with Kafka's own Utils."""
    topic = a_topic(settings)
    producer = Producer(settings.kafka)
    producer.send(topic.name, [b"v"] * 5, [b"1", b"132", b"236", b"264", b"79"], [1_000] * 5)
    assert producer.finish() == 5
    found = {key: p for p in range(4) for key, _, _ in read_partition(settings.kafka, topic.name, p)}
    assert found == {key: (murmur2(key) & 0x7FFF_FFFF) % 4 for key in (b"1", b"132", b"236", b"264", b"79")}


def test_timestamps_of_2009_stay(settings: Settings) -> None:
    topic = a_topic(settings)
    producer = Producer(settings.kafka)
    producer.send(topic.name, [b"v"], [None], [1_231_000_000_000], partition=2)
    producer.finish()
    assert read_partition(settings.kafka, topic.name, 2) == [(None, b"v", 1_231_000_000_000)]


def test_records_that_the_broker_refuses_are_counted_and_raised(settings: Settings) -> None:
    topic = a_topic(settings, **{"max.message.bytes": "2000"})
    producer = Producer(settings.kafka)
    producer.send(topic.name, [random.Random(1).randbytes(20_000)], [b"k"], [1_000])
    with pytest.raises(DeliveryFailed, match=topic.name):
        producer.finish()
    assert (producer.sent, producer.failed) == (1, 1)


def test_every_generated_ride_arrives_once(settings: Settings) -> None:
    create_topics(settings.kafka, topics(settings))
    before = _counts(settings)
    ids = register_schemas(settings, (RIDES,))
    generator = Generator(3)
    frames = (generator.rides(first, 700) for first in (0, 700, 1400))
    written = write_rides(Producer(settings.kafka), ids, frames, Pace(None))
    assert written.total == 2100
    assert {name: _counts(settings)[name] - before[name] for name in before} == {
        name: written.records[name] for name in before
    }


def test_an_advance_request_goes_to_the_partition_that_it_is_about(settings: Settings) -> None:
    create_topics(settings.kafka, topics(settings))
    ends = {TopicPartition(topic.name, p): 10 + p for topic in RIDES.topics for p in range(4)}
    assert request_advances(Producer(settings.kafka), settings.app_id, RIDES.name, ends, 99) == len(ends)
    for partition in range(4):
        records = read_partition(settings.kafka, f"{settings.app_id}.rides.advance-requests", partition)
        requests = [json.loads(value or b"") for _, value, _ in records]
        assert {r["topic"] for r in requests} == {topic.name for topic in RIDES.topics}
        assert all(
            (r["partition"], r["watermark_us"], r["not_before_offset"]) == (partition, 99, 10 + partition)
            for r in requests
        )


def murmur2(key: bytes) -> int:
    """Kafka's Utils.murmur2, unsigned."""
    mask, multiplier = 0xFFFF_FFFF, 0x5BD1_E995
    mixed = 0x9747_B28C ^ len(key)
    whole = len(key) // 4 * 4
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * multiplier & mask
        word = (word ^ (word >> 24)) * multiplier & mask
        mixed = (mixed * multiplier & mask) ^ word
    rest = int.from_bytes(key[whole:], "little")
    if rest:
        mixed = (mixed ^ rest) * multiplier & mask
    mixed = (mixed ^ (mixed >> 13)) * multiplier & mask
    return mixed ^ (mixed >> 15)


def _counts(settings: Settings) -> dict[str, int]:
    return {
        topic.name: sum(len(read_partition(settings.kafka, topic.name, p)) for p in range(4))
        for topic in source_topics(settings, RIDES)
    }
