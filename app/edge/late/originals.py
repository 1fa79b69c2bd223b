"""Records that were too large to be set aside whole, read again where they stood in their source."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.committed import committed
from app.base.setting_groups import KafkaSettings
from app.domain.records import TopicPartition
from app.edge.late.refused import RefusedRecord


class Whole(Protocol):
    """Gives a refused record with all its bytes; as it is if its topic no longer has it."""

    def __call__(self, refused: RefusedRecord, /) -> RefusedRecord: ...


def as_kept(refused: RefusedRecord) -> RefusedRecord:
    """Looks nothing up."""
    return refused


class Originals:
    """Reads shortened records whole. Raises ClusterError, LogSilent, LogRefused."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._client, self._cluster = librdkafka_options(kafka), Cluster(kafka)

    def __call__(self, refused: RefusedRecord) -> RefusedRecord:
        if refused.original is None or not self._has(refused):
            return refused
        topic, partition, offset = refused.place
        message = next(committed(self._client, topic, partition, offset), None)
        if message is None or message.offset() != offset or not refused.original.is_of(message.value()):
            return refused
        headers = tuple(message.headers() or ())
        return replace(refused, key=message.key(), value=message.value(), headers=headers, original=None)

    def _has(self, refused: RefusedRecord) -> bool:
        """Whether the log still reaches so far back."""
        place = TopicPartition(refused.place.topic, refused.place.partition)
        return self._cluster.log_starts([place])[place] <= refused.place.offset
