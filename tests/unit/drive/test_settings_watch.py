"""Topics whose settings somebody changes under a worker that runs: it says so, once, and goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import pytest
from prometheus_client import CollectorRegistry

from app.base.errors import KafkaUnavailable
from app.base.kafka.topic import Topic
from app.base.kafka.topic_admin import TopicState
from app.engine.drive.watch import settings_watch
from app.engine.drive.watch.settings_watch import SettingsWatch

GREEN = Topic("rides.green", "", "", 4, 1, "delete", "")
COMPACTED = "has cleanup.policy=compact, not delete"
STAMPED = "has message.timestamp.type=LogAppendTime, not CreateTime"


class FakeCluster:
    """Answers in turn, the last for ever; None: the cluster is away."""

    def __init__(self, *answers: tuple[str, ...] | None) -> None:
        self.answers, self.asked = list(answers), 0

    def states(self) -> Iterable[TopicState]:
        self.asked += 1
        told = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if told is None:
            raise KafkaUnavailable("away")
        return [TopicState(GREEN, exists=True, differences=told)]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_watch, "LOOK_SECONDS", 0.001)


@asynccontextmanager
async def watched(cluster: FakeCluster) -> AsyncIterator[Callable[[], float | None]]:
    """A watch that has had every answer, the last one more than once; gives what its gauge shows."""
    registry = CollectorRegistry()
    watch, looks = SettingsWatch(cluster.states, registry), len(cluster.answers) + 2
    await watch.start()
    try:
        async with asyncio.timeout(30):
            while cluster.asked < looks:
                await asyncio.sleep(0)
        yield lambda: registry.get_sample_value("flagfall_topic_settings_differing")
    finally:
        await watch.stop()


def told(caplog: pytest.LogCaptureFixture, level: str) -> list[str]:
    """What was said of topics; a service's beginning and end are told by the same logger."""
    said = [record.getMessage() for record in caplog.records if record.levelname == level]
    return [words.partition(":")[0] for words in said if words.startswith("topic ")]


async def test_what_somebody_changed_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async with watched(FakeCluster((), (COMPACTED,), (COMPACTED,), (COMPACTED, STAMPED))) as differing:
        assert differing() == 2
    assert told(caplog, "WARNING") == [f"topic rides.green {COMPACTED}", f"topic rides.green {STAMPED}"]


async def test_what_was_set_back_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with watched(FakeCluster((COMPACTED,), ())) as differing:
        assert differing() == 0
    assert told(caplog, "INFO") == [f"topic rides.green {COMPACTED}"]


async def test_a_silent_cluster_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with watched(FakeCluster((COMPACTED,), None)) as differing:
        assert differing() == 1
    assert len(told(caplog, "WARNING")) == 1


async def test_a_worker_that_ends_asks_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends for a topic that it has told of already, or beside a cluster that answers nobody."""
    monkeypatch.setattr(settings_watch, "LOOK_SECONDS", 600.0)
    cluster = FakeCluster((COMPACTED,))
    watch = SettingsWatch(cluster.states, CollectorRegistry())
    await watch.start()
    await asyncio.sleep(0)  # the watch begins to wait
    await watch.stop()
    assert cluster.asked == 0
