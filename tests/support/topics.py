"""Fakes and facts for tests of topics, registry and producer."""

from __future__ import annotations

from time import monotonic

from confluent_kafka import Consumer, KafkaException, TopicPartition

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.passing import passes
from app.base.setting_groups import KafkaSettings
from tests.support.machine.waiting import patient

READ_SECONDS = patient(60.0)


def read_partition(kafka: KafkaSettings, topic: str, partition: int) -> list[tuple[bytes | None, bytes | None, int]]:
    """Every record of a topic-partition: key, value, timestamp in milliseconds."""
    consumer = Consumer({**librdkafka_options(kafka), "group.id": "tests", "enable.auto.commit": False})
    try:
        start, end = _bounds(consumer, TopicPartition(topic, partition))
        consumer.assign([TopicPartition(topic, partition, start)])
        messages = consumer.consume(end - start, READ_SECONDS) if end > start else []
    finally:
        consumer.close()
    assert len(messages) == end - start
    return [(m.key(), m.value(), m.timestamp()[1]) for m in messages]


def _bounds(consumer: Consumer, place: TopicPartition) -> tuple[int, int]:
    """Offsets of the first record and behind the last; asks again while a new topic has no leader yet."""
    deadline = monotonic() + READ_SECONDS
    while True:
        try:
            start, end = consumer.get_watermark_offsets(place, timeout=READ_SECONDS)
            return int(start), int(end)
        except KafkaException as error:
            if not passes(error.args[0]) or monotonic() > deadline:
                raise
            consumer.list_topics(place.topic, timeout=READ_SECONDS)
