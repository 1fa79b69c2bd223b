"""More partitions for topics that are there, and those that are not. Kafka takes none back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewPartitions

from app.base.errors import KafkaUnavailable
from app.base.kafka.administrator import REQUEST_TIMEOUT_SECONDS, admin_client
from app.base.kafka.topic import Topic
from app.base.kafka.topic_admin import await_leaders, create_topics, described, require_topics
from app.base.setting_groups import KafkaSettings


def partitions_now(kafka: KafkaSettings, topics: Sequence[Topic]) -> Mapping[str, int]:
    """How many partitions each topic has, by name; 0 of one that is not there. Raises KafkaUnavailable.

    Raises TopicsDiffer unless all that are there are as their entries say, but for partitions that they lack.
    """
    found = described(kafka, topics)
    there = [topic for topic in topics if topic.name in found]
    require_topics(kafka, [replace(one, partitions=min(one.partitions, found[one.name].partitions)) for one in there])
    return dict.fromkeys((topic.name for topic in topics), 0) | {name: one.partitions for name, one in found.items()}


def grow(kafka: KafkaSettings, topics: Sequence[Topic]) -> None:
    """Give topics the partitions that their entries say, one by one, in this order; those that are missing are made.

    Raises KafkaUnavailable.
    """
    admin, now = admin_client(kafka), partitions_now(kafka, topics)
    for topic in topics:
        if not now[topic.name]:
            create_topics(kafka, [topic])
        elif now[topic.name] < topic.partitions:
            asked = admin.create_partitions(
                [NewPartitions(topic.name, topic.partitions)], operation_timeout=REQUEST_TIMEOUT_SECONDS
            )
            try:
                asked[topic.name].result(REQUEST_TIMEOUT_SECONDS)
            except KafkaException as error:
                raise KafkaUnavailable(f"topic {topic.name} could not be widened: {error.args[0].str()}") from error
    await_leaders(kafka, {topic.name: topic.partitions for topic in topics})
