"""More partitions for topics that are there. Kafka takes none back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewPartitions

from app.base.errors import KafkaUnavailable
from app.base.kafka.topic import Topic
from app.base.kafka.topic_admin import (
    REQUEST_TIMEOUT_SECONDS,
    Described,
    admin_client,
    await_leaders,
    described,
    require_topics,
)
from app.base.setting_groups import KafkaSettings


def partitions_now(kafka: KafkaSettings, topics: Sequence[Topic]) -> Mapping[str, int]:
    """How many partitions each topic has, by name. Raises KafkaUnavailable.

    Raises TopicsMissing or TopicsDiffer unless all are there, as their entries say but for partitions that they lack.
    """
    found = described(kafka, topics)
    require_topics(kafka, [_no_wider(one, found) for one in topics])
    return {topic.name: found[topic.name].partitions for topic in topics}


def grow(kafka: KafkaSettings, topics: Sequence[Topic]) -> None:
    """Give topics the partitions that their entries say, one by one, in this order. Raises KafkaUnavailable."""
    admin, now = admin_client(kafka), partitions_now(kafka, topics)
    for topic in topics:
        if now[topic.name] < topic.partitions:
            asked = admin.create_partitions(
                [NewPartitions(topic.name, topic.partitions)], operation_timeout=REQUEST_TIMEOUT_SECONDS
            )
            try:
                asked[topic.name].result(REQUEST_TIMEOUT_SECONDS)
            except KafkaException as error:
                raise KafkaUnavailable(f"topic {topic.name} could not be widened: {error.args[0].str()}") from error
    await_leaders(admin, kafka, {topic.name: topic.partitions for topic in topics})


def _no_wider(topic: Topic, found: Mapping[str, Described]) -> Topic:
    """The entry, as if it wanted no more partitions than there are."""
    return (
        replace(topic, partitions=min(topic.partitions, found[topic.name].partitions)) if topic.name in found else topic
    )
