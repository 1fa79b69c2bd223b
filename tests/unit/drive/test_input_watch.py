"""A topic that was made anew, or has more partitions, under a worker that runs: it ends in words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from app.base.kafka.cluster import ClusterError, TopicFacts, TopicGone
from app.domain.errors import FlagfallError, StateError
from app.domain.marker import InputPosition, Marker
from app.engine.drive.watch import input_watch
from app.engine.drive.watch.input_watch import InputWatch

CHANGELOG = "app-rides-changelog"
OURS = {"rides.green": "g", "rides.yellow": "y"}
ALL = {**OURS, CHANGELOG: "c"}


class FakeCluster:
    """Answers in turn, the last for ever; None: the cluster is away."""

    def __init__(self, *answers: dict[str, TopicFacts] | None) -> None:
        self.answers, self.asked = list(answers), 0

    def topics(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        self.asked += 1
        told = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if told is None:
            raise ClusterError("away")
        return {name: told[name] for name in names}


def facts(**changed: TopicFacts) -> dict[str, TopicFacts]:
    return {topic: changed.get(topic.rpartition(".")[2], TopicFacts(name, 4)) for topic, name in ALL.items()}


def begun() -> dict[int, Marker]:
    inputs = {topic: InputPosition(name, 0, 7) for topic, name in OURS.items()}
    return {2: Marker("app", 1, 2, 1, inputs, {}, changelog_id="c")}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_watch, "LOOK_SECONDS", 0.001)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"green": TopicFacts("another", 4)}, r"rides\.green-2: the topic was created anew \(id another, .* from g\)"),
        ({CHANGELOG: TopicFacts("d", 4)}, r"app-rides-changelog-2: the changelog was created anew \(id d, .* was c\)"),
        (
            {"yellow": TopicFacts("y", 5)},
            r"rides\.yellow has 5 partitions, not 4: .*PARTITIONS to 5, .*`flagfall widen`",
        ),
    ],
)
async def test_what_has_become_of_a_topic_ends_the_worker_once(found: dict[str, TopicFacts], words: str) -> None:
    ended: asyncio.Queue[FlagfallError] = asyncio.Queue()
    cluster: Any = FakeCluster(facts(), None, facts(**found))
    async with InputWatch(cluster, [*OURS], CHANGELOG, begun, partitions=4, end=ended.put), asyncio.timeout(60):
        with pytest.raises(StateError, match=words):
            raise await ended.get()
    assert (ended.empty(), cluster.asked) == (True, 3)


async def test_a_topic_that_is_gone_ends_the_worker_though_its_tasks_have_been_handed_over() -> None:
    """Whoever commits its last offsets would do so for ever, in the middle of the rebalance."""
    ended: asyncio.Queue[FlagfallError] = asyncio.Queue()
    cluster: Any = SimpleNamespace(topics=Mock(side_effect=[facts(), TopicGone("gone"), TopicGone("gone")]))
    async with InputWatch(cluster, [*OURS], CHANGELOG, dict, partitions=4, end=ended.put), asyncio.timeout(60):
        assert str(await ended.get()) == "gone"


async def test_topics_that_are_as_they_were_and_a_cluster_that_is_away_end_nothing() -> None:
    ended: asyncio.Queue[FlagfallError] = asyncio.Queue()
    cluster: Any = FakeCluster(facts(), None, facts())
    async with InputWatch(cluster, [*OURS], CHANGELOG, begun, partitions=4, end=ended.put), asyncio.timeout(60):
        while cluster.asked < 5:
            await asyncio.sleep(0.001)
    assert ended.empty()


async def test_a_topic_that_one_broker_does_not_know_for_a_moment_ends_nothing() -> None:
    ended: asyncio.Queue[FlagfallError] = asyncio.Queue()
    looks = Mock(side_effect=[TopicGone("gone"), facts(), TopicGone("gone"), *[facts()] * 1000])
    cluster: Any = SimpleNamespace(topics=looks)
    async with InputWatch(cluster, [*OURS], CHANGELOG, begun, partitions=4, end=ended.put), asyncio.timeout(60):
        while looks.call_count < 5:
            await asyncio.sleep(0.001)
    assert ended.empty()
