"""How old a standby's copy is said to be: never younger than what came and is not in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from app.base import names
from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import encode_marker
from app.domain.marker import InputPosition
from app.domain.records import TopicPartition
from app.engine.core.batch import Batch
from app.engine.core.completing import empty_marker
from app.engine.core.definition import TaskDefinition
from app.engine.drive.ownership import directory, standby
from app.engine.drive.ownership.directory import Directory
from app.engine.drive.ownership.standby import Standby
from app.testkit.cluster.partition_log import PartitionLog, SentRecord
from app.testkit.simulation.parcels import CARRIERS, PARCELS

DEFINITION = TaskDefinition("app", (PARCELS,), (CARRIERS,))
CHANGELOG = names.changelog_topic("app", DEFINITION.name)
CORRECTIONS = names.corrections_topic("app", DEFINITION.name)
AIR = PARCELS.topics[0].name


class Town:
    """Logs of one task, its owner's commits, the copy of another worker, and the clock of all."""

    def __init__(self) -> None:
        self.now_seconds = 1_000.0
        self.logs = {t: PartitionLog(t, 0) for t in (CHANGELOG, *DEFINITION.topics)}
        self.directory = Directory("http://here", partitions=1)
        connections: Any = SimpleNamespace(client={}, cluster=self)
        self.standby = Standby(DEFINITION, connections, self.directory, lambda: ())

    def monotonic(self) -> float:
        return self.now_seconds

    def log_ends(self, places: Iterable[TopicPartition], *, committed: bool) -> dict[TopicPartition, int]:
        assert committed, "an open transaction's records have not come yet"
        return {place: self.logs[place.topic].last_stable_offset for place in places}

    def log_starts(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.logs[place.topic].start for place in places}

    async def read(
        self, _: Any, topic: str, starts: Mapping[int, int], ends: Mapping[int, int], take: Callable[[Batch], None]
    ) -> None:
        for partition, start in starts.items():
            take(self.logs[topic].fetch(start, 1_000, until=ends[partition]))

    def come(self, topic: str = AIR, count: int = 1) -> None:
        for _ in range(count):
            self.logs[topic].append(SentRecord(b"", b""))

    def commit(self, unread: int = 0) -> None:
        """By the task's owner, who has read all of its topics but so many of the last records."""
        read = {topic: max(0, self.logs[topic].end - unread) for topic in DEFINITION.topics}
        inputs = {topic: InputPosition("id", 0, end) for topic, end in read.items()}
        marker = encode_marker(empty_marker(DEFINITION, 0, inputs))
        self.logs[CHANGELOG].append(SentRecord(marker_key(DEFINITION.number), marker))

    async def look_after(self, seconds: float) -> float | None:
        """How old the copy is said to be when the standby has read on."""
        self.now_seconds += seconds
        await self.standby._read_on()
        known = self.directory.last_known(0)
        return None if known is None else known.age_seconds


@pytest.fixture
def town(monkeypatch: pytest.MonkeyPatch) -> Town:
    made = Town()
    monkeypatch.setattr(standby, "time", made)
    monkeypatch.setattr(directory, "time", made)
    monkeypatch.setattr(standby, "read_to_end", made.read)
    return made


@pytest.mark.parametrize("topic", [AIR, CORRECTIONS])
async def test_a_copy_whose_owner_writes_nothing_is_as_old_as_what_piles_up_unread(town: Town, topic: str) -> None:
    town.come(topic)
    town.commit()
    assert await town.look_after(1) == 0
    for second in range(1, 31):
        town.come(topic)
        assert await town.look_after(1) == second


async def test_a_copy_of_a_quiet_topic_stays_young_though_nobody_writes(town: Town) -> None:
    town.come()
    town.commit()
    for _ in range(30):
        assert await town.look_after(1) == 0


async def test_a_copy_whose_owner_is_behind_is_as_old_as_what_the_owner_has_not_read(town: Town) -> None:
    town.come(count=10)
    town.commit()
    ages = []
    for _ in range(12):
        town.come()
        town.commit(unread=5)
        ages.append(await town.look_after(1))
    assert ages == [None] * 5 + [5] * 7


async def test_nothing_is_known_of_a_copy_before_it_has_once_reached_the_ends_of_its_topics(town: Town) -> None:
    town.come(count=2)
    town.commit(unread=1)
    assert await town.look_after(1) is None
    town.commit()
    assert await town.look_after(1) == 0


async def test_a_copy_whose_owner_was_away_for_long_is_never_told_younger_than_it_is(town: Town) -> None:
    """Looks that wait for their ends to be reached are thinned out."""
    town.commit()
    await town.look_after(1)
    for _ in range(1_000):
        town.come()
        await town.look_after(1)
    unread = 990
    while unread > 0:
        town.commit(unread)
        age = await town.look_after(0)
        assert age is not None
        assert unread <= age
        unread -= 90
    town.commit()
    assert await town.look_after(0) == 0


async def test_the_lag_of_a_copy_is_told_by_the_ends_as_they_are_now(town: Town) -> None:
    town.come()
    town.commit()
    await town.look_after(1)
    town.come(count=3)
    await town.look_after(1)
    known = town.directory.last_known(0)
    assert known is not None
    assert town.directory.lag_records(AIR, 0, known.state.marker.position_in(AIR)) == 3
