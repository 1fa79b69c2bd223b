"""The cluster's answers, and what is asked again, by whom."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from app.base import cluster
from app.base.cluster import Cluster, ClusterError, NotNow, TopicFacts
from app.base.passing import OF_CLIENT, OF_KAFKA
from app.base.settings import KafkaSettings
from app.domain.records import TopicPartition as Place

YELLOW = Place("rides.yellow", 0)
IMPOSSIBLE = -1001


class Clients:
    """Makes administrators; each answers with what is next of `answers`: an offset or an error."""

    def __init__(self, *answers: int | KafkaException) -> None:
        self.answers = list(answers)
        self.made = 0
        self.waits: list[float] = []
        self.connected = 0

    def __call__(self, _: object) -> Clients:
        self.made += 1
        return self

    def __len__(self) -> int:
        """As librdkafka's: what waits to be sent, and so nothing."""
        return 0

    def describe_cluster(self, **_: object) -> Future[Any]:
        self.connected += 1
        return _given(None)

    def list_offsets(
        self, wanted: dict[TopicPartition, Any], *, request_timeout: float, **_: object
    ) -> dict[TopicPartition, Future[Any]]:
        assert self.connected == self.made, "a client that has not connected yet may lose the question"
        self.waits.append(request_timeout)
        return dict.fromkeys(wanted, self._next())

    def describe_topics(self, wanted: Any, *, request_timeout: float) -> dict[str, Future[Any]]:
        self.waits.append(request_timeout)
        return {"rides.yellow": self._next()}

    def _next(self) -> Future[Any]:
        future: Future[Any] = Future()
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            future.set_result(SimpleNamespace(offset=answer, topic_id=answer, partitions=[None] * answer))
        else:
            future.set_exception(answer)
        return future


def _given(result: object) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


def asking(monkeypatch: pytest.MonkeyPatch, clients: Clients, timeout_seconds: float = 30.0) -> Cluster:
    monkeypatch.setattr(cluster, "AdminClient", clients)
    monkeypatch.setattr(cluster, "ASK_AGAIN_SECONDS", 0.001)
    return Cluster(KafkaSettings(), timeout_seconds)


def failing(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


def test_a_client_that_answers_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(7, 8)
    asked = asking(monkeypatch, clients)
    assert [asked.log_ends([YELLOW], committed=True), asked.log_starts([YELLOW])] == [{YELLOW: 7}, {YELLOW: 8}]
    assert clients.made == 1


@pytest.mark.parametrize("first", [*map(failing, sorted(OF_KAFKA | OF_CLIENT)), IMPOSSIBLE], ids=str)
def test_one_whose_answer_will_pass_is_replaced(first: int | KafkaException, monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(first, 7)
    assert asking(monkeypatch, clients).log_ends([YELLOW], committed=True) == {YELLOW: 7}
    assert clients.made == 2


def test_a_slow_cluster_is_given_more_time_with_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(*[failing(KafkaError._TIMED_OUT)] * 3, 7)
    assert asking(monkeypatch, clients).log_ends([YELLOW], committed=False) == {YELLOW: 7}
    assert clients.waits == [0.5, 1.0, 2.0, 4.0]


def test_no_question_is_given_more_time_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(7)
    asking(monkeypatch, clients, timeout_seconds=0.25).log_ends([YELLOW], committed=False)
    assert clients.waits == [0.25]


def test_without_a_leader_in_time_the_place_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotNow, match=r"^rides\.yellow-0: .* has no leader of it that answers"):
        asking(monkeypatch, Clients(IMPOSSIBLE), timeout_seconds=0).log_ends([YELLOW], committed=True)


def test_any_other_answer_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(failing(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(ClusterError, match=r"^rides\.yellow-0: .* answers: "):
        asking(monkeypatch, clients).log_starts([YELLOW])
    assert clients.made == 1


def test_a_client_that_was_kept_and_sees_no_broker_any_more_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = failing(KafkaError._NOENT)
    clients = Clients(7, unknown, failing(KafkaError._TIMED_OUT), 8, unknown, unknown)
    asked = asking(monkeypatch, clients)
    assert asked.log_ends([YELLOW], committed=True) == {YELLOW: 7}
    assert asked.log_ends([YELLOW], committed=True) == {YELLOW: 8}
    with pytest.raises(ClusterError, match=r"^rides\.yellow-0: .* answers: "):
        asked.log_ends([YELLOW], committed=True)
    assert (clients.made, clients.answers) == (4, [])


def test_topics_too_are_asked_for_again_by_a_new_client(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = failing(KafkaError._TIMED_OUT)
    clients = Clients(silent, 4, silent, 5)
    asked = asking(monkeypatch, clients)
    assert asked.topics(["rides.yellow"]) == {"rides.yellow": TopicFacts("4", 4)}
    assert asked.topics(["rides.yellow"]) == {"rides.yellow": TopicFacts("5", 5)}
    assert clients.made == 3


def test_whoever_waits_for_an_answer_keeps_its_client_though_another_thread_gives_it_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A librdkafka client that nobody holds is destroyed, and its questions with it."""
    answer: Future[Any] = Future()
    first_asked = threading.Event()

    class Client:
        made: ClassVar[list[weakref.ref[Client]]] = []

        def __init__(self, _: object) -> None:
            self.number = len(self.made)
            self.made.append(weakref.ref(self))

        def describe_cluster(self, **_: object) -> Future[Any]:
            return _given(None)

        def list_offsets(self, wanted: dict[TopicPartition, Any], **_: object) -> dict[TopicPartition, Future[Any]]:
            if self.number == 0 and not first_asked.is_set():
                first_asked.set()
                return dict.fromkeys(wanted, answer)
            future: Future[Any] = Future()
            if self.number == 0:
                future.set_exception(failing(KafkaError._TIMED_OUT))
            else:
                future.set_result(SimpleNamespace(offset=8))
            return dict.fromkeys(wanted, future)

    monkeypatch.setattr(cluster, "AdminClient", Client)
    asked = Cluster(KafkaSettings())
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(asked.log_ends, [YELLOW], committed=True)
        assert first_asked.wait(60)
        assert asked.log_ends([YELLOW], committed=True) == {YELLOW: 8}
        assert Client.made[0]() is not None
        answer.set_result(SimpleNamespace(offset=7))
        assert waiting.result(10) == {YELLOW: 7}
    gc.collect()
    assert Client.made[0]() is None


def test_threads_that_ask_at_once_share_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(*[7] * 8)
    asked = asking(monkeypatch, clients)
    together = threading.Barrier(8)

    def ask(_: int) -> dict[Place, int]:
        together.wait(60)
        return asked.log_ends([YELLOW], committed=True)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(8))) == [{YELLOW: 7}] * 8
    assert clients.made == 1
