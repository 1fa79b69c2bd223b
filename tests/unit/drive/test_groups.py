"""Task groups side by side: which may be together, and what is asked of all of them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from faust.types import TP

from app.engine.drive.faust_parts.groups import GroupsOverlap, TaskGroups
from app.engine.drive.ownership.directory import Directory, Membership


@dataclass
class Definition:
    topics: tuple[str, ...]


@dataclass
class FakeTable:
    """A group as its peers see it; a take-over of task 13 fails, one of task 99 never ends."""

    name: str
    topics: tuple[str, ...]
    taken: list[list[int]] = field(default_factory=list)
    cancelled: bool = False

    def __post_init__(self) -> None:
        self.definition = Definition(self.topics)
        self.changelog_name = f"app-{self.name}-changelog"
        self.directory = Directory("http://here", 4)

    async def take_over(self, partitions: Iterable[int]) -> None:
        wanted = sorted(partitions)
        self.taken.append(wanted)
        if 13 in wanted:
            raise LookupError("13")
        if 99 in wanted:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise


def groups_of(*tables: FakeTable) -> TaskGroups:
    groups = TaskGroups(Membership())
    for table in tables:
        table_: Any = table
        groups.add(table_)
    return groups


def test_a_topic_that_two_groups_read_is_refused_in_words() -> None:
    with pytest.raises(GroupsOverlap, match=r"b is an input of two task groups, one and two: .* send on to a topic"):
        groups_of(FakeTable("one", ("a", "b")), FakeTable("two", ("b", "c")))


def test_two_groups_of_one_name_are_refused() -> None:
    with pytest.raises(GroupsOverlap, match="two task groups are called one"):
        groups_of(FakeTable("one", ("a",)), FakeTable("one", ("b",)))


async def test_each_group_takes_over_the_tasks_of_its_own_changelog() -> None:
    """One that is assigned none is told so, as it must give up what it had."""
    one, two, three = FakeTable("one", ("a",)), FakeTable("two", ("b",)), FakeTable("three", ("c",))
    await groups_of(one, two, three).take_over(
        [TP("app-one-changelog", 2), TP("app-two-changelog", 0), TP("app-one-changelog", 1)]
    )
    assert (one.taken, two.taken, three.taken) == ([[1, 2]], [[0]], [[]])


async def test_a_take_over_that_fails_ends_the_others_with_its_own_error() -> None:
    good, bad = FakeTable("good", ("a",)), FakeTable("bad", ("b",))
    with pytest.raises(LookupError, match="13"):
        await groups_of(good, bad).take_over([TP("app-good-changelog", 99), TP("app-bad-changelog", 13)])
    assert good.cancelled


def test_log_ends_reach_the_group_that_reads_the_topic() -> None:
    one, two = FakeTable("one", ("a",)), FakeTable("two", ("b",))
    groups_of(one, two).log_ends_seen({("a", 0): 5, ("b", 3): 7, ("app-one-changelog", 0): 9})
    assert one.directory.log_end == {("a", 0): 5}
    assert two.directory.log_end == {("b", 3): 7}
