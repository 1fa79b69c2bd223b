"""What the tables must hold, found without worker and without Spark: the topics read and folded one by one."""

from __future__ import annotations

from functools import lru_cache

from confluent_kafka import Message

from app.base import names
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.committed import committed
from app.base.registry.client import Registry
from app.base.registry.schemas import RegistrySchemas
from app.base.setting_groups import KafkaSettings
from app.base.settings import Settings
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.records import Record, TopicPartition
from app.domain.source import Source
from tests.support.machine.waiting import wait_for


@lru_cache(maxsize=1)
def cluster_of(kafka: KafkaSettings) -> Cluster:
    """One for all questions to a cluster: each new one connects anew, and conditions are asked many times a second."""
    return Cluster(kafka)


def records_of(settings: Settings, source: Source) -> list[Record]:
    """Every decodable record of the source's topics, in offset order within each topic-partition."""
    strict, schemas = StrictDecoder(source.columns), RegistrySchemas(Registry(settings))
    records = []
    for topic in source.topics:
        for partition in range(settings.topics.partitions):
            for message in read(settings, topic.name, partition):
                decoded = strict.decode(message.value(), schemas)
                if not isinstance(decoded, Unreadable):
                    timestamp_ms = message.timestamp()[1]
                    records.append(Record(topic.name, partition, message.offset(), timestamp_ms, decoded))
    return records


def read(settings: Settings, topic: str, partition: int) -> list[Message]:
    """All committed messages of a topic-partition, as far as it goes now.

    A commit is told to the writer before its markers are in the log. So first every transaction that has a record
    here now is waited for: what somebody has answered from would be missing otherwise.
    """
    at, cluster = TopicPartition(topic, partition), cluster_of(settings.kafka)
    (end,) = cluster.log_ends([at], committed=False).values()
    wait_for(lambda: cluster.log_ends([at], committed=True)[at] >= end, f"all of {topic}-{partition} is decided")
    return list(committed(librdkafka_options(settings.kafka), topic, partition))


def log_ends(settings: Settings, source: Source) -> dict[tuple[str, int], int]:
    """Where each topic-partition of the source ends now."""
    places = [TopicPartition(t.name, p) for t in source.topics for p in range(settings.topics.partitions)]
    ends = cluster_of(settings.kafka).log_ends(places, committed=True)
    return {(p.topic, p.partition): end for p, end in ends.items()}


def changelog_of(settings: Settings, source: Source, partition: int) -> dict[bytes, bytes]:
    """Latest value per key of one changelog partition."""
    topic = names.changelog_topic(settings.app_id, source.name)
    return {message.key(): message.value() for message in read(settings, topic, partition)}
