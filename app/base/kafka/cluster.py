"""What the cluster says of its topics: ids, log starts, log ends. Blocking; call it from a thread on a loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
)
from confluent_kafka import (
    TopicPartition as KafkaPartition,
)
from confluent_kafka.admin import AdminClient

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.passing import ANSWERS, ASK_FOR_RIGHTS, REFUSALS, passes
from app.base.setting_groups import KafkaSettings
from app.domain.errors import FlagfallError
from app.domain.records import TopicPartition

UNUSED_GROUP = "flagfall-reads"
"""Of clients that read alone: they demand one, and ask who coordinates it."""
ASK_AGAIN_SECONDS = 0.1
FIRST_PATIENCE_SECONDS = 0.5
"""Twice as long with each further question, for clusters that are only slow."""
LOCAL_SECONDS = 1.0
"""The client ends a question by itself; this is for telling it."""

Reply = TypeVar("Reply")
Client = TypeVar("Client")


class ClusterError(FlagfallError):
    """The cluster could not be asked, or knows no such topic."""


class NotNow(ClusterError):
    """The cluster may answer this soon."""


class TopicGone(ClusterError):
    """The cluster answers that it has no such topic, or not that partition of it."""


class NotAllowed(ClusterError):
    """The cluster does not let who asks know this."""


class TopicFacts(NamedTuple):
    """The id that the cluster gave a topic when it was created (a re-created one has another), and its size."""

    id: str
    partitions: int


class Cluster:
    """Questions to the cluster, each bounded in time.

    Offsets are asked for by clients that read: the administrator's own call for them (librdkafka 2.16, ListOffsets)
    looks for leaders in two threads at once, and ends the whole process where a question takes longer than it may.
    """

    def __init__(self, kafka: KafkaSettings, timeout_seconds: float = 30.0) -> None:
        options = {**librdkafka_options(kafka), "log_level": 0}  # what matters is raised
        reads = options | {"group.id": UNUSED_GROUP, "enable.auto.commit": False}
        self._reads = reads
        self._timeout = timeout_seconds
        self._address = kafka.bootstrap_server
        self._administrator = _Kept(lambda: AdminClient(options))
        self._committed = _Kept(lambda: Consumer(reads | {"isolation.level": "read_committed"}))
        self._written = _Kept(lambda: Consumer(reads | {"isolation.level": "read_uncommitted"}))

    def topics(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """What each of these topics is."""
        wanted = sorted(set(names))

        def ask(client: AdminClient, seconds: float) -> dict[str, TopicFacts]:
            return self._facts(client, wanted, seconds)

        return self._answered(self._administrator, ask) if wanted else {}

    def topic_names(self, prefix: str) -> list[str]:
        """Topics that there are whose names begin with it."""

        def ask(client: AdminClient, seconds: float) -> list[str]:
            try:
                return sorted(name for name in client.list_topics(timeout=seconds).topics if name.startswith(prefix))
            except KafkaException as error:
                raise self._error("the list of topics", error.args[0]) from error

        return self._answered(self._administrator, ask)

    def log_starts(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """First offset that each topic-partition still has."""
        return self._offsets(self._written, places, OFFSET_BEGINNING)

    def log_ends(self, places: Iterable[TopicPartition], *, committed: bool) -> dict[TopicPartition, int]:
        """Offset behind the last record: the high watermark, or with `committed` the last stable offset."""
        return self._offsets(self._committed if committed else self._written, places, OFFSET_END)

    def log_offsets_since(self, places: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int]:
        """Offset of each topic-partition's first record of that time or later; where there is none, behind the last."""
        found = self._offsets(self._written, places, max(timestamp_ms, 0), none=OFFSET_END)
        beyond = self.log_ends([place for place, offset in found.items() if offset == OFFSET_END], committed=False)
        return found | beyond

    def group_offsets(self, group: str, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """From where on a consumer group reads, as it has committed it; without what it has committed nothing of. One
        that may not be described is never told: its client asks on, and it is NotNow."""
        if not group.partition("\0")[0]:  # the client reads so far, and ends the process of one without a name
            raise ClusterError(f"{group!r} is no name of a consumer group")
        asked = [KafkaPartition(place.topic, place.partition) for place in sorted(set(places))]

        def ask(client: Consumer, seconds: float) -> dict[TopicPartition, int]:
            try:
                told = client.committed(asked, timeout=seconds)
            except KafkaException as error:
                raise self._error(f"group {group}", error.args[0]) from error
            for refused in (one.error for one in told if one.error is not None):
                raise self._error(f"group {group}", refused)
            return {TopicPartition(one.topic, one.partition): one.offset for one in told if one.offset >= 0}

        return self._answered(_Kept(lambda: Consumer(self._reads | {"group.id": group})), ask)

    def _offsets(
        self, kept: _Kept[Consumer], places: Iterable[TopicPartition], which: int, none: int | None = None
    ) -> dict[TopicPartition, int]:
        """`which`: first or last, as Kafka's protocol has them beside the times that it can be asked about; `none` is
        what it says of a time that no record reaches."""
        wanted = sorted(set(places))

        def ask(client: Consumer, seconds: float) -> dict[TopicPartition, int]:
            asked = [KafkaPartition(place.topic, place.partition, which) for place in wanted]
            try:
                told = client.offsets_for_times(asked, timeout=seconds)
            except KafkaException as error:
                raise self._unanswered(wanted, error.args[0], seconds) from error
            return dict(self._offset(one, seconds, none) for one in told)

        return self._answered(kept, ask) if wanted else {}

    def _offset(self, told: KafkaPartition, seconds: float, none: int | None) -> tuple[TopicPartition, int]:
        place = TopicPartition(told.topic, told.partition)
        if told.error is not None:
            raise self._unanswered([place], told.error, seconds)
        if told.offset < 0 and told.offset != none:
            raise NotNow(self._leaderless(str(place)))
        return place, told.offset

    def _unanswered(self, places: Sequence[TopicPartition], error: KafkaError, seconds: float) -> ClusterError:
        """librdkafka calls a topic-partition unknown that has no leader: of a broker that was frozen its controller
        says so until it counts it again. Whether it is there at all the topics themselves tell."""
        about = f"{places[0]} and {len(places) - 1} more" if places[1:] else str(places[0])
        if error.code() != KafkaError._UNKNOWN_PARTITION:
            return self._error(about, error)
        administrator, _ = self._administrator.choose()
        try:
            facts = self._facts(administrator, sorted({place.topic for place in places}), seconds)
        except ClusterError as unknown:
            self._administrator.drop(administrator)
            return unknown
        gone = next((place for place in places if place.partition >= facts[place.topic].partitions), None)
        return NotNow(self._leaderless(about)) if gone is None else TopicGone(self._gone(str(gone)))

    def _facts(self, client: AdminClient, names: Sequence[str], seconds: float) -> dict[str, TopicFacts]:
        asked = client.describe_topics(TopicCollection(list(names)), request_timeout=seconds)
        told = {name: self._described(asked[name], name, seconds) for name in names}
        return {name: TopicFacts(str(one.topic_id), len(one.partitions)) for name, one in told.items()}

    def _described(self, future: Future[Any], about: str, seconds: float) -> Any:
        try:
            return future.result(timeout=seconds + LOCAL_SECONDS)
        except KafkaException as error:
            raise self._error(about, error.args[0]) from error
        except TimeoutError as error:
            raise NotNow(f"{about}: {self._address} has not answered within {seconds:g} s") from error

    def _error(self, about: str, error: KafkaError) -> ClusterError:
        if error.code() in ANSWERS:
            return TopicGone(self._gone(about))
        if error.code() in REFUSALS:
            return NotAllowed(f"{about}: {self._address} answers: {error.str()}. {ASK_FOR_RIGHTS}")
        kind = NotNow if passes(error) else ClusterError
        return kind(f"{about}: {self._address} answers: {error.str()}")

    def _gone(self, about: str) -> str:
        return (
            f"{about}: {self._address} has no such topic, or partition. Was it deleted? `flagfall topics create` "
            "makes it anew, without its records; then `flagfall rebuild`, or another FLAGFALL_APP_ID"
        )

    def _leaderless(self, about: str) -> str:
        return f"{about}: {self._address} has no leader of it that answers"

    def _answered(self, kept: _Kept[Client], ask: Callable[[Client, float], Reply]) -> Reply:
        """Each question is short (`ask` is given a client and seconds), and one that fails is asked by a new client.

        librdkafka's stays with the leader it knows, and while no broker is there it knows no topic-partition; for
        half a minute after one has come back it may not answer. So what a client says that was kept is an error only
        if a new one says it too.
        """
        left_seconds, patience_seconds = self._timeout, FIRST_PATIENCE_SECONDS
        deadline = time.monotonic() + left_seconds
        while True:
            client, is_new = kept.choose()
            try:
                return ask(client, min(patience_seconds, left_seconds))
            except ClusterError as error:
                kept.drop(client)
                left_seconds = deadline - time.monotonic() - ASK_AGAIN_SECONDS
                if left_seconds <= 0 or (is_new and not isinstance(error, NotNow)):
                    raise
            time.sleep(ASK_AGAIN_SECONDS)
            patience_seconds *= 2


class _Kept(Generic[Client]):
    """A client that several threads ask: made for the first question, and anew once it has been given up.

    Whoever asks holds it until it has answered: one that nobody holds ends, and answers nothing.
    """

    def __init__(self, make: Callable[[], Client]) -> None:
        self._make = make
        self._client: Client | None = None
        self._choosing = threading.Lock()

    def choose(self) -> tuple[Client, bool]:
        """A client, and whether it is new."""
        with self._choosing:
            is_new = self._client is None
            client = self._make() if self._client is None else self._client  # a client's truth is its queue's length
            self._client = client
            return client, is_new

    def drop(self, client: Client) -> None:
        """Give up this one, if it is still the one that is kept."""
        with self._choosing:
            if self._client is client:
                self._client = None
