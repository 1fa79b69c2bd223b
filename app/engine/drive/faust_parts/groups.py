"""The task groups of one worker, side by side: what Faust's driver and recovery ask of all of them at once.

A group is a task definition with its tables, changelog and transactional ids (`SourceTable`). Groups share the
worker's consumer and nothing else: each has positions, a standing and failures of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any

from faust.types import TP

from app.domain.errors import FlagfallError
from app.engine.drive.faust_parts.source_table import SourceTable
from app.engine.drive.ownership.directory import Membership

log = logging.getLogger(__name__)


class GroupsOverlap(FlagfallError):
    """Two task groups want the same topic. Give one of them a topic of its own; the message names it."""


class TaskGroups:
    """The groups of a worker, by name; `membership` is what they all learn from its heartbeats."""

    def __init__(self, membership: Membership) -> None:
        self.membership = membership
        self._by_name: dict[str, SourceTable] = {}
        self._by_input: dict[str, SourceTable] = {}
        self._by_changelog: dict[str, SourceTable] = {}

    def __iter__(self) -> Iterator[SourceTable]:
        return iter(self._by_name.values())

    def add(self, table: SourceTable) -> None:
        """Take a group in. GroupsOverlap if another one has its name or reads one of its topics.

        A topic has one position per worker: two groups would each seek it to where their own state ends.
        """
        if table.name in self._by_name:
            raise GroupsOverlap(f"two task groups are called {table.name}: name one of them differently")
        for topic in table.definition.topics:
            if topic in self._by_input:
                raise GroupsOverlap(
                    f"{topic} is an input of two task groups, {self._by_input[topic].name} and {table.name}: a topic "
                    "has one position in a worker, so one group must read it. Declare both groups' views in one, or "
                    "let the first send on to a topic of the second"
                )
        self._by_name[table.name] = table
        self._by_input |= dict.fromkeys(table.definition.topics, table)
        self._by_changelog[table.changelog_name] = table

    def positions(self) -> dict[TP, int]:
        """Where each input of each owned task goes on."""
        return {tp: offset for table in self for tp, offset in table.positions().items()}

    def log_ends_seen(self, ends: dict[tuple[str, int], int]) -> None:
        """Ends of logs as the last fetches told, for the lag in answers."""
        for (topic, partition), end in ends.items():
            table = self._by_input.get(topic)
            if table is not None:
                table.directory.log_end[topic, partition] = end

    async def quiesce(self) -> None:
        """Stop every task of every group at a transaction's end."""
        await _together(table.quiesce() for table in self)

    async def take_over(self, changelogs: Iterable[TP]) -> None:
        """Take over the tasks of these changelog partitions; groups that have none among them give theirs up."""
        wanted: dict[str, set[int]] = {name: set() for name in self._by_changelog}
        for tp in changelogs:
            wanted[tp.topic].add(tp.partition)
        await _together(self._by_changelog[name].take_over(partitions) for name, partitions in wanted.items())


async def _together(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """All at once; when one fails the others are cancelled, and its error is raised as it is, the others' logged."""
    try:
        async with asyncio.TaskGroup() as group:
            for coroutine in coroutines:
                group.create_task(coroutine)
    except BaseExceptionGroup as errors:
        for other in errors.exceptions[1:]:
            log.error("failed beside another: %r", other)
        raise errors.exceptions[0] from None
