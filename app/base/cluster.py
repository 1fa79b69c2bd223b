"""What the cluster says of its topics: ids, log starts, log ends. Blocking; call it from a thread on a loop."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import Future
from functools import cached_property
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from app.base.kafka_clients import librdkafka_options
from app.base.settings import KafkaSettings
from app.domain.errors import FlagfallError
from app.domain.records import TopicPartition as Place

NO_LEADER_YET = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
"""Of a topic just made, or while a leader is elected: asked again."""
ASK_AGAIN_SECONDS = 0.1


class ClusterError(FlagfallError):
    """The cluster could not be asked, or knows no such topic."""


class Cluster:
    """Questions to the cluster, each bounded in time."""

    def __init__(self, kafka: KafkaSettings, timeout_seconds: float = 30.0) -> None:
        self._options = {**librdkafka_options(kafka), "log_level": 4}
        self._timeout = timeout_seconds
        self._address = kafka.bootstrap_server

    @cached_property
    def _admin(self) -> AdminClient:
        """Connects at once, so it is made with the first question."""
        return AdminClient(self._options)

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """The id that the cluster gave each topic when it was created; a re-created topic has another."""
        names = sorted(topics)
        asked = self._admin.describe_topics(TopicCollection(names), request_timeout=self._timeout)
        return {name: str(self._answer(asked[name], name).topic_id) for name in names}

    def partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """How many partitions each topic has."""
        names = sorted(topics)
        asked = self._admin.describe_topics(TopicCollection(names), request_timeout=self._timeout)
        return {name: len(self._answer(asked[name], name).partitions) for name in names}

    def log_starts(self, places: Iterable[Place]) -> dict[Place, int]:
        """First offset that each topic-partition still has."""
        return self._offsets(places, OffsetSpec.earliest(), committed=False)

    def log_ends(self, places: Iterable[Place], *, committed: bool) -> dict[Place, int]:
        """Offset behind the last record: the high watermark, or with `committed` the last stable offset."""
        return self._offsets(places, OffsetSpec.latest(), committed=committed)

    def _offsets(self, places: Iterable[Place], spec: OffsetSpec, *, committed: bool) -> dict[Place, int]:
        wanted = {TopicPartition(p.topic, p.partition): spec for p in places}
        if not wanted:
            return {}
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        deadline = time.monotonic() + self._timeout
        while True:
            asked = self._admin.list_offsets(wanted, isolation_level=level, request_timeout=self._timeout)
            try:
                return {
                    Place(tp.topic, tp.partition): self._answer(future, f"{tp.topic}-{tp.partition}").offset
                    for tp, future in asked.items()
                }
            except ClusterError as error:
                if not _has_no_leader_yet(error) or time.monotonic() > deadline:
                    raise
                time.sleep(ASK_AGAIN_SECONDS)

    def _answer(self, future: Future[Any], about: str) -> Any:
        try:
            return future.result(timeout=self._timeout)
        except KafkaException as error:
            raise ClusterError(f"{about}: {self._address} answers: {error.args[0].str()}") from error


def _has_no_leader_yet(error: ClusterError) -> bool:
    cause = error.__cause__
    return isinstance(cause, KafkaException) and cause.args[0].code() in NO_LEADER_YET
