"""Warm copies of tasks that other workers own, so that a take-over reads only what came since.

A copy is read from the changelog as a take-over reads it, and nothing else: it fences nobody, answers no query, writes
nothing. Whatever it holds beyond its last marker is read again by the take-over, which changes nothing (the last
record of a key counts).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import mode

from app.base import names
from app.domain.records import TopicPartition
from app.engine.core.batch import Batch
from app.engine.core.definition import Role, TaskDefinition
from app.engine.core.restore import Restorer
from app.engine.core.task_state import TaskState
from app.engine.drive.kafka.changelog_reader import read_to_end
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.ownership.coverage import Coverage, EndsSeen
from app.engine.drive.ownership.directory import Directory, LastKnown
from app.engine.drive.questions import AskAssigned

log = logging.getLogger(__name__)

EVERY_SECONDS = 1.0
FORGET_SECONDS = 3600.0
"""A copy that was not read on for so long may have missed a tombstone that compaction has removed since."""


@dataclass(slots=True)
class _Copy:
    """What was read of a task's changelog, below `next_offset`; `whole_at`: when that was its end (monotonic).

    `coverage`: until when what came to the task's topics is in it.
    """

    restorer: Restorer
    next_offset: int
    whole_at: float
    coverage: Coverage = field(default_factory=Coverage)

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() - self.whole_at < FORGET_SECONDS


class Standby(mode.Service):
    """Follows every task of a group that is not assigned here; `assigned` gives those that are."""

    def __init__(
        self,
        definition: TaskDefinition,
        connections: Connections,
        directory: Directory,
        assigned: AskAssigned,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._definition, self._connections = definition, connections
        self._directory, self._assigned = directory, assigned
        self._changelog = names.changelog_topic(definition.application, definition.name)
        self._topics = [t for t, role in definition.roles.items() if role in (Role.RECORDS, Role.CORRECTIONS)]
        self._copies: dict[int, _Copy] = {}
        self._reading: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        self.add_future(self._follow())

    async def on_stop(self) -> None:
        await self._break_off()

    async def exchange(self, wanted: Collection[int], given_up: Mapping[int, TaskState]) -> dict[int, TaskState]:
        """States of the tasks that are wanted, as far as there are; it goes on with those of tasks that have left."""
        await self._break_off()
        self._directory.standby = {}
        now, found = time.monotonic(), dict[int, TaskState]()
        for partition in wanted:
            copy = self._copies.pop(partition, None)
            if copy is not None and copy.is_fresh and copy.restorer.so_far is not None:
                found[partition] = copy.restorer.so_far
        for partition in given_up.keys() - set(wanted):
            state = given_up[partition]
            self._copies[partition] = _Copy(Restorer(self._definition, state), state.marker_offset + 1, now)
        return found

    async def _break_off(self) -> None:
        """A copy is whole after every batch, wherever reading ends."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
            self._reading = None

    async def _follow(self) -> None:
        while not self.should_stop:
            self._reading = reading = asyncio.create_task(self._read_on(), name=f"standby-{self._definition.name}")
            await asyncio.wait([reading])
            error = None if reading.cancelled() else reading.exception()
            if error is not None:  # a take-over that needs them will read the log itself, and tell in words
                log.warning("%s: the standby's copies are dropped: %s", self._changelog, error)
                self._copies.clear()
                self._directory.standby = {}
            await self.sleep(EVERY_SECONDS)

    async def _read_on(self) -> None:
        """Every copy to its log's last stable offset."""
        others = sorted(set(range(self._directory.partitions)) - set(self._assigned()))
        places = {p: TopicPartition(self._changelog, p) for p in others}
        inputs = [TopicPartition(topic, p) for topic in self._topics for p in others]
        cluster, asked_at = self._connections.cluster, time.monotonic()
        stable, starts = await asyncio.gather(
            asyncio.to_thread(cluster.log_ends, [*places.values(), *inputs], committed=True),
            asyncio.to_thread(cluster.log_starts, places.values()),
        )
        now, ends = time.monotonic(), {p: stable[place] for p, place in places.items()}
        for partition, place in places.items():
            copy = self._copies.get(partition)
            if copy is None or copy.next_offset > ends[partition] or not copy.is_fresh:
                self._copies[partition] = _Copy(Restorer(self._definition), starts[place], now)
            self._look(partition, asked_at, stable)

        def take(batch: Batch) -> None:
            self._directory.copies.pop(batch.partition, None)  # within a transaction it is no committed state
            copy = self._copies[batch.partition]
            copy.restorer.read(batch)
            copy.next_offset = batch.next_offset

        begins = {p: max(self._copies[p].next_offset, starts[places[p]]) for p in others}
        await read_to_end(self._connections.client, self._changelog, begins, ends, take)
        for partition, end in ends.items():
            copy = self._copies[partition]
            copy.next_offset, copy.whole_at = end, now
            self._tell(partition, copy)
        self._directory.standby = ends

    def _look(self, partition: int, at_seconds: float, stable: Mapping[TopicPartition, int]) -> None:
        ends = {topic: stable[TopicPartition(topic, partition)] for topic in self._topics}
        self._copies[partition].coverage.look(EndsSeen(at_seconds, ends))
        self._directory.log_end |= {(topic, partition): end for topic, end in ends.items()}

    def _tell(self, partition: int, copy: _Copy) -> None:
        """What answers may be made of; nothing of a copy that may lack what came nobody knows how long ago."""
        if (state := copy.restorer.so_far) is None:
            return
        copy.coverage.reach(state.marker.inputs)
        if (until_seconds := copy.coverage.until_seconds) is not None:
            self._directory.copies[partition] = LastKnown(state, until_seconds)
