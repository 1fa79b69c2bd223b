"""The tasks of a group while no worker runs: looked at, and mended by a marker that is written in a worker's place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from app.base import names
from app.base.kafka.cluster import ASK_AGAIN_SECONDS
from app.base.kafka.group_members import GroupSilent, Member
from app.domain.errors import FlagfallError
from app.domain.marker import InputPosition, Marker
from app.engine.core.begun import require_same
from app.engine.core.definition import TaskDefinition
from app.engine.core.mending.rebuilding import LogNow
from app.engine.drive.callbacks import WriteInPlace
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.inputs import Input, inputs_of
from app.engine.drive.kafka.markers import begun_of, last_markers
from app.engine.drive.questions import AskMembers
from app.engine.drive.transactions.writer import TaskWriter

PATIENCE_SECONDS = 30.0
"""A coordinator that says nothing for so long has no word of who runs: nothing is written then."""


class WorkersRun(FlagfallError):
    """Workers are in the group: what they hold would not be what is written. Stop them; the message names them."""


def log_of(given: Input) -> LogNow:
    return LogNow(given.topic_id, given.start, given.end)


class MendableTask(NamedTuple):
    """A task as its changelog and the cluster tell of it now."""

    marker: Marker
    inputs: dict[str, Input]
    outcomes: Input
    """Its partition of what became of corrections."""

    @property
    def begin(self) -> dict[str, InputPosition]:
        """Where its topics begin now."""
        return {topic: given.at_start() for topic, given in self.inputs.items()}

    @property
    def logs(self) -> dict[str, LogNow]:
        """What its topics hold now."""
        return {topic: log_of(given) for topic, given in self.inputs.items()}


class StoppedGroup:
    """A group's tasks, `count` of them; `members` asks who is in the consumer group now, or raises GroupSilent."""

    def __init__(
        self,
        definition: TaskDefinition,
        connections: Connections,
        members: AskMembers,
        count: int,
    ) -> None:
        self.definition, self.connections = definition, connections
        self._members, self._count = members, count

    @property
    def _partitions(self) -> range:
        return range(self._count)

    async def markers(self) -> dict[int, Marker]:
        """The marker that each task committed last; none for one that has committed nothing.

        StateError if what they had stored is gone.
        """
        markers = await last_markers(self.definition, self.connections, self._partitions)
        await self._require_same_changelog(markers)
        return markers

    async def inputs(self) -> dict[int, dict[str, Input]]:
        """What each task's topics hold now. StateError if one has another number of partitions."""
        return await inputs_of(self.connections.cluster, self.definition.topics, self._partitions, self._count)

    async def standings(self) -> dict[int, MendableTask]:
        """By partition; without tasks that have committed nothing, which begin where their topics do.

        StateError if what they had stored is gone.
        """
        inputs, markers = await self.inputs(), await self.markers()
        corrected = names.corrected_topic(self.definition.application)
        outcomes = await inputs_of(self.connections.cluster, [corrected], self._partitions, self._count)
        return {p: MendableTask(markers[p], inputs[p], outcomes[p][corrected]) for p in sorted(markers)}

    async def changelog_id(self) -> str:
        changelog = names.changelog_topic(self.definition.application, self.definition.name)
        facts = await asyncio.to_thread(self.connections.cluster.topics, [changelog])
        return facts[changelog].id

    async def _require_same_changelog(self, markers: Mapping[int, Marker]) -> None:
        changelog_id = await self.changelog_id()
        unmarked = sorted(set(self._partitions) - markers.keys())
        begun = await begun_of(self.definition, self.connections, unmarked)
        for partition in self._partitions:
            told = begun.get(partition, "")
            require_same(self.definition, partition, markers.get(partition), told, changelog_id)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[WriteInPlace]:
        """Holds every task as its owner would: whoever held one before can write no more.

        WorkersRun if the group has members, GroupSilent if nobody tells. What is asked inside is what stays until it
        is written.
        """
        await self._require_stopped()
        writers = {partition: self._new_writer(partition) for partition in self._partitions}
        try:
            await asyncio.gather(*(writer.fence() for writer in writers.values()))
            yield lambda partition, transaction: writers[partition].write(transaction)
        finally:
            await asyncio.gather(*(writer.stop() for writer in writers.values()))

    async def _require_stopped(self) -> None:
        running = sorted({f"{member.client_id} at {member.host}" for member in await self._running()})
        if running:
            application = self.definition.application
            raise WorkersRun(
                f"{len(running)} worker{'s are' if running[1:] else ' is'} in the group {application}: "
                f"{', '.join(running)}. Stop {'them' if running[1:] else 'it'} first; one that was killed stays there "
                "until its session has timed out"
            )

    async def _running(self) -> Sequence[Member]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return await asyncio.to_thread(self._members)
            except GroupSilent:
                if time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(ASK_AGAIN_SECONDS)

    def _new_writer(self, partition: int) -> TaskWriter:
        application, name = self.definition.application, self.definition.name
        task_id = names.transactional_id(application, name, partition)
        changelog = names.changelog_topic(application, name)
        return TaskWriter(self.connections.client, task_id, changelog, partition)
