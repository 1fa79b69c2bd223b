"""What the cluster says of its topics: ids, log starts, log ends. Blocking; call it from a thread on a loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from app.base.kafka_clients import librdkafka_options
from app.base.passing import passes
from app.base.settings import KafkaSettings
from app.domain.errors import FlagfallError
from app.domain.records import TopicPartition as Place

ASK_AGAIN_SECONDS = 0.1
FIRST_PATIENCE_SECONDS = 0.5
"""Twice as long with each further question, for clusters that are only slow."""
LOCAL_SECONDS = 1.0
"""The client ends a question by itself; this is for telling it."""

Answer = TypeVar("Answer")


class ClusterError(FlagfallError):
    """The cluster could not be asked, or knows no such topic."""


class NotNow(ClusterError):
    """The cluster may answer this soon."""


class TopicFacts(NamedTuple):
    """The id that the cluster gave a topic when it was created (a re-created one has another), and its size."""

    id: str
    partitions: int


class Cluster:
    """Questions to the cluster, each bounded in time."""

    def __init__(self, kafka: KafkaSettings, timeout_seconds: float = 30.0) -> None:
        self._options = {**librdkafka_options(kafka), "log_level": 4}
        self._timeout = timeout_seconds
        self._address = kafka.bootstrap_server
        self._client: AdminClient | None = None
        self._choosing = threading.Lock()

    def topics(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """What each of these topics is."""
        wanted = sorted(set(names))

        def ask(client: AdminClient, seconds: float) -> dict[str, TopicFacts]:
            asked = client.describe_topics(TopicCollection(wanted), request_timeout=seconds)
            told = {name: self._answer(asked[name], name, seconds) for name in wanted}
            return {name: TopicFacts(str(one.topic_id), len(one.partitions)) for name, one in told.items()}

        return self._answered(ask) if wanted else {}

    def log_starts(self, places: Iterable[Place]) -> dict[Place, int]:
        """First offset that each topic-partition still has."""
        return self._offsets(places, OffsetSpec.earliest(), committed=False)

    def log_ends(self, places: Iterable[Place], *, committed: bool) -> dict[Place, int]:
        """Offset behind the last record: the high watermark, or with `committed` the last stable offset."""
        return self._offsets(places, OffsetSpec.latest(), committed=committed)

    def _offsets(self, places: Iterable[Place], spec: OffsetSpec, *, committed: bool) -> dict[Place, int]:
        wanted = {TopicPartition(p.topic, p.partition): spec for p in places}
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

        def ask(client: AdminClient, seconds: float) -> dict[Place, int]:
            asked = client.list_offsets(wanted, isolation_level=level, request_timeout=seconds)
            return dict(self._offset(tp, future, seconds) for tp, future in asked.items())

        return self._answered(ask) if wanted else {}

    def _offset(self, at: TopicPartition, future: Future[Any], seconds: float) -> tuple[Place, int]:
        about = f"{at.topic}-{at.partition}"
        offset = self._answer(future, about, seconds).offset
        if offset < 0:
            raise NotNow(f"{about}: {self._address} has no leader of it that answers")
        return Place(at.topic, at.partition), offset

    def _answer(self, future: Future[Any], about: str, seconds: float) -> Any:
        try:
            return future.result(timeout=seconds + LOCAL_SECONDS)
        except KafkaException as error:
            kind = NotNow if passes(error.args[0]) else ClusterError
            raise kind(f"{about}: {self._address} answers: {error.args[0].str()}") from error
        except TimeoutError as error:
            raise NotNow(f"{about}: {self._address} has not answered within {seconds:g} s") from error

    def _answered(self, ask: Callable[[AdminClient, float], Answer]) -> Answer:
        """Each question is short (`ask` is given a client and seconds), and one that fails is asked by a new client.

        librdkafka's (2.16) stays with the leader it knows. A dead one it asks again without a pause, which takes a
        core, until the time is over; then it gives an impossible offset and no error. One that lives it asks with an
        old epoch. While no broker is there it knows no topic-partition, and for half a minute after one has come back
        it may not answer. So what a client says that was kept is an error only if a new one says it too.

        Asked for offsets before it has connected, one in five does not notice that it has, and tells of a timeout.
        So a new one is asked for the cluster first.
        """
        left_seconds, patience_seconds = self._timeout, FIRST_PATIENCE_SECONDS
        deadline = time.monotonic() + left_seconds
        while True:
            client, is_new = self._choose()
            seconds = min(patience_seconds, left_seconds)
            try:
                if is_new:
                    self._answer(client.describe_cluster(request_timeout=seconds), "the cluster", seconds)
                return ask(client, seconds)
            except ClusterError as error:
                self._drop(client)
                left_seconds = deadline - time.monotonic() - ASK_AGAIN_SECONDS
                if left_seconds <= 0 or (is_new and not isinstance(error, NotNow)):
                    raise
            time.sleep(ASK_AGAIN_SECONDS)
            patience_seconds *= 2

    def _choose(self) -> tuple[AdminClient, bool]:
        """A client, and whether it is new; it connects at once, so the first is made for the first question.

        Whoever asks holds it until it has answered: one that nobody holds ends, and answers nothing.
        """
        with self._choosing:
            is_new = self._client is None
            client = AdminClient(self._options) if is_new else self._client  # a client's truth is its queue's length
            self._client = client
            return client, is_new

    def _drop(self, client: AdminClient) -> None:
        with self._choosing:
            if self._client is client:
                self._client = None
