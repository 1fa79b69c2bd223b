"""How a task's writer begins, with producers that have no cluster."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from aiokafka.errors import KafkaConnectionError

from app.base.kafka.cluster import ClusterError
from app.engine.drive.kafka import writer
from app.engine.drive.kafka.writer import TaskWriter

NO_BROKER = AssertionError("Did we not perform bootstrap?")
NO_ANSWER = KafkaConnectionError("Unable to bootstrap")


class Producers:
    """Makes producers; the start of each does what is next of `starts`: fail, or nothing."""

    def __init__(self, *starts: Exception | None, brokers: int = 0) -> None:
        self.starts, self.brokers = list(starts), brokers
        self.made, self.stopped = 0, 0

    def __call__(self, **_: object) -> SimpleNamespace:
        self.made += 1
        sender_task = SimpleNamespace(add_done_callback=lambda _: None)
        cluster = SimpleNamespace(brokers=lambda: set(range(self.brokers)))
        return SimpleNamespace(
            start=self._start,
            stop=self._stop,
            client=SimpleNamespace(cluster=cluster),
            _sender=SimpleNamespace(sender_task=sender_task),
        )

    async def _start(self) -> None:
        if failure := self.starts.pop(0):
            raise failure

    async def _stop(self) -> None:
        self.stopped += 1


def fence(producers: Producers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "AIOKafkaProducer", producers)
    monkeypatch.setattr(writer, "ASK_AGAIN_SECONDS", 0)
    asyncio.run(TaskWriter({}, "rides-0", "changelog", 3).fence())


def test_a_cluster_that_tells_of_no_broker_is_asked_again_by_a_new_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer of a broker that was frozen for longer than its controller waits."""
    producers = Producers(NO_BROKER, NO_ANSWER, None)
    fence(producers, monkeypatch)
    assert (producers.made, producers.stopped) == (3, 2)


def test_a_cluster_that_stays_away_is_told_with_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "START_SECONDS", 0)
    producers = Producers(NO_BROKER)
    with pytest.raises(ClusterError, match=r"^changelog-3: no broker is told of, or answers"):
        fence(producers, monkeypatch)
    assert producers.stopped == 1


def test_an_assertion_that_fails_though_there_are_brokers_is_none_of_this(monkeypatch: pytest.MonkeyPatch) -> None:
    producers = Producers(AssertionError("another"), brokers=1)
    with pytest.raises(AssertionError, match="another"):
        fence(producers, monkeypatch)
