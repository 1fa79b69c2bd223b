"""The cluster's answers, and what is asked again, by whom."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from app.base.kafka import cluster
from app.base.kafka.cluster import Cluster, ClusterError, NotAllowed, NotNow, TopicFacts, TopicGone
from app.base.kafka.passing import OF_CLIENT, OF_KAFKA
from app.base.setting_groups import KafkaSettings
from app.domain.records import TopicPartition

YELLOW = TopicPartition("rides.yellow", 0)
IMPOSSIBLE = -1001


class Clients:
    """Makes administrators and readers; each answers with what is next of `answers`: an offset or an error."""

    def __init__(self, *answers: int | KafkaException | KafkaError) -> None:
        self.answers = list(answers)
        self.made: list[str | None] = []
        self.waits: list[float] = []
        self.asked: list[int] = []

    def __call__(self, options: dict[str, Any]) -> Clients:
        self.made.append(options.get("isolation.level"))
        return self

    def __len__(self) -> int:
        """As librdkafka's: what waits to be sent, and so nothing."""
        return 0

    def offsets_for_times(self, wanted: list[KafkaPartition], timeout: float) -> list[Any]:
        self.waits.append(timeout)
        self.asked += [one.offset for one in wanted]
        answer = self.answers.pop(0)
        if isinstance(answer, KafkaException):
            raise answer
        offset, error = (answer, None) if isinstance(answer, int) else (IMPOSSIBLE, answer)
        return [SimpleNamespace(topic=w.topic, partition=w.partition, offset=offset, error=error) for w in wanted]

    def describe_topics(self, _: Any, *, request_timeout: float) -> dict[str, Future[Any]]:
        self.waits.append(request_timeout)
        future: Future[Any] = Future()
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            future.set_result(SimpleNamespace(topic_id=answer, partitions=[None] * answer))
        else:
            future.set_exception(answer)  # type: ignore[arg-type]
        return {"rides.yellow": future}


def asking(monkeypatch: pytest.MonkeyPatch, clients: Clients, timeout_seconds: float = 30.0) -> Cluster:
    for kind in ("AdminClient", "Consumer"):
        monkeypatch.setattr(cluster, kind, clients)
    monkeypatch.setattr(cluster, "ASK_AGAIN_SECONDS", 0.001)
    return Cluster(KafkaSettings(), timeout_seconds)


def failing(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


def test_a_client_that_answers_is_kept_one_for_each_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(7, 8, 9, 10)
    asked = asking(monkeypatch, clients)
    assert [asked.log_ends([YELLOW], committed=True) for _ in range(2)] == [{YELLOW: 7}, {YELLOW: 8}]
    assert [asked.log_starts([YELLOW]), asked.log_ends([YELLOW], committed=False)] == [{YELLOW: 9}, {YELLOW: 10}]
    assert clients.made == ["read_committed", "read_uncommitted"]
    assert clients.asked == [OFFSET_END, OFFSET_END, OFFSET_BEGINNING, OFFSET_END]


@pytest.mark.parametrize(
    "first",
    [
        *map(failing, sorted(OF_KAFKA | OF_CLIENT)),
        KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION),
        IMPOSSIBLE,
    ],
    ids=str,
)
def test_one_whose_answer_will_pass_is_replaced(
    first: int | KafkaException | KafkaError, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = Clients(first, 7)
    assert asking(monkeypatch, clients).log_ends([YELLOW], committed=True) == {YELLOW: 7}
    assert len(clients.made) == 2


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


@pytest.mark.parametrize(
    "answer",
    [failing(KafkaError.TOPIC_AUTHORIZATION_FAILED), KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)],
    ids=["all", "one"],
)
def test_a_refusal_is_told_at_once_with_where_to_ask(
    answer: KafkaException | KafkaError, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = Clients(answer)
    with pytest.raises(NotAllowed, match=r"^rides\.yellow-0: .* answers: .* `flagfall rights check`"):
        asking(monkeypatch, clients).log_starts([YELLOW])
    assert len(clients.made) == 1


@pytest.mark.parametrize("code", [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_ID])
def test_a_topic_that_is_gone_is_told_with_what_to_do(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TopicGone, match=r"^rides\.yellow: .* has no such topic, .* `flagfall topics create` .*APP_ID"):
        asking(monkeypatch, Clients(failing(code))).topics(["rides.yellow"])


def test_where_all_places_fail_together_it_is_told_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [TopicPartition("rides.yellow", partition) for partition in range(3)]
    with pytest.raises(ClusterError, match=r"^rides\.yellow-0 and 2 more: .* answers: "):
        asking(monkeypatch, Clients(failing(KafkaError.TOPIC_AUTHORIZATION_FAILED))).log_starts(places)


def test_a_client_that_was_kept_and_sees_no_broker_any_more_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = failing(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    clients = Clients(7, refused, failing(KafkaError._TIMED_OUT), 8, refused, refused)
    asked = asking(monkeypatch, clients)
    assert asked.log_ends([YELLOW], committed=True) == {YELLOW: 7}
    assert asked.log_ends([YELLOW], committed=True) == {YELLOW: 8}
    with pytest.raises(ClusterError, match=r"^rides\.yellow-0: .* answers: "):
        asked.log_ends([YELLOW], committed=True)
    assert (len(clients.made), clients.answers) == (4, [])


@pytest.mark.parametrize("unknown", [failing(KafkaError._UNKNOWN_PARTITION), KafkaError(KafkaError._UNKNOWN_PARTITION)])
def test_a_partition_that_a_new_client_calls_unknown_is_asked_for_again_while_its_topic_is_there(
    unknown: KafkaException | KafkaError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine of forty said so when a broker went on after 15 s, whose controller had given it up: it leads nothing."""
    silent, partitions = failing(KafkaError._TIMED_OUT), 4
    clients = Clients(unknown, partitions, unknown, silent, unknown, partitions, 7)
    assert asking(monkeypatch, clients).log_ends([YELLOW], committed=False) == {YELLOW: 7}
    assert clients.answers == []
    with pytest.raises(NotNow, match=r"^rides\.yellow-0: .* has no leader of it that answers"):
        asking(monkeypatch, Clients(unknown, partitions), timeout_seconds=0).log_starts([YELLOW])


@pytest.mark.parametrize("told", [failing(KafkaError.UNKNOWN_TOPIC_OR_PART), 4], ids=["topic", "partition"])
def test_a_place_that_is_not_there_is_gone_at_once(told: int | KafkaException, monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(failing(KafkaError._UNKNOWN_PARTITION), told)
    with pytest.raises(TopicGone, match=r"^rides\.yellow.*: .* has no such topic, or partition"):
        asking(monkeypatch, clients).log_ends([TopicPartition("rides.yellow", 4)], committed=True)


def test_clients_that_are_kept_print_nothing_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """librdkafka writes past our log: a thousand lines for a broker that is away for half a minute."""
    levels = []
    clients = Clients(7, 4)
    for kind in ("AdminClient", "Consumer"):
        monkeypatch.setattr(cluster, kind, lambda options: levels.append(options["log_level"]) or clients)
    asked = Cluster(KafkaSettings())
    asked.log_ends([YELLOW], committed=True)
    asked.topics(["rides.yellow"])
    assert levels == [0, 0]


def test_topics_too_are_asked_for_again_by_a_new_client(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = failing(KafkaError._TIMED_OUT)
    clients = Clients(silent, 4, silent, 5)
    asked = asking(monkeypatch, clients)
    assert asked.topics(["rides.yellow"]) == {"rides.yellow": TopicFacts("4", 4)}
    assert asked.topics(["rides.yellow"]) == {"rides.yellow": TopicFacts("5", 5)}
    assert clients.made == [None] * 3


def test_whoever_waits_for_an_answer_keeps_its_client_though_another_thread_gives_it_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A librdkafka client that nobody holds is destroyed, and its questions with it."""
    first_asked, may_answer = threading.Event(), threading.Event()

    class Client:
        made: ClassVar[list[weakref.ref[Client]]] = []

        def __init__(self, _: object) -> None:
            self.number = len(self.made)
            self.made.append(weakref.ref(self))

        def offsets_for_times(self, wanted: list[KafkaPartition], timeout: float) -> list[Any]:
            if self.number == 0 and not first_asked.is_set():
                first_asked.set()
                assert may_answer.wait(60)
                return [SimpleNamespace(topic=w.topic, partition=w.partition, offset=7, error=None) for w in wanted]
            if self.number == 0:
                raise failing(KafkaError._TIMED_OUT)
            return [SimpleNamespace(topic=w.topic, partition=w.partition, offset=8, error=None) for w in wanted]

    monkeypatch.setattr(cluster, "Consumer", Client)
    asked = Cluster(KafkaSettings())
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(asked.log_ends, [YELLOW], committed=True)
        assert first_asked.wait(60)
        assert asked.log_ends([YELLOW], committed=True) == {YELLOW: 8}
        gc.collect()
        assert Client.made[0]() is not None
        may_answer.set()
        assert waiting.result(10) == {YELLOW: 7}
    gc.collect()
    assert Client.made[0]() is None


def test_threads_that_ask_at_once_share_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(*[7] * 8)
    asked = asking(monkeypatch, clients)
    together = threading.Barrier(8)

    def ask(_: int) -> dict[TopicPartition, int]:
        together.wait(60)
        return asked.log_ends([YELLOW], committed=True)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(8))) == [{YELLOW: 7}] * 8
    assert len(clients.made) == 1
