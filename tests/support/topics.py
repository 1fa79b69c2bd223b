"""Fakes and facts for tests of topics, registry and producer."""

from __future__ import annotations

from time import monotonic

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from app.base.kafka_clients import librdkafka_options
from app.base.settings import KafkaSettings

READ_SECONDS = 20.0
NO_LEADER_YET = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


def read_partition(kafka: KafkaSettings, topic: str, partition: int) -> list[tuple[bytes | None, bytes | None, int]]:
    """Every record of a topic-partition: key, value, timestamp in milliseconds."""
    consumer = Consumer({**librdkafka_options(kafka), "group.id": "tests", "enable.auto.commit": False})
    place = TopicPartition(topic, partition, 0)
    try:
        end = _end(consumer, place)
        consumer.assign([place])
        messages = consumer.consume(end, READ_SECONDS) if end else []
    finally:
        consumer.close()
    assert len(messages) == end
    return [(m.key(), m.value(), m.timestamp()[1]) for m in messages]


def _end(consumer: Consumer, place: TopicPartition) -> int:
    """Offset behind the last record; asks again while a new topic has no leader yet."""
    deadline = monotonic() + READ_SECONDS
    while True:
        try:
            return int(consumer.get_watermark_offsets(place, timeout=READ_SECONDS)[1])
        except KafkaException as error:
            if error.args[0].code() not in NO_LEADER_YET or monotonic() > deadline:
                raise
            consumer.list_topics(place.topic, timeout=READ_SECONDS)
