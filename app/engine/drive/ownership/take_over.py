"""Taking tasks over: from an assignment to writers that fence all others, and states that equal their logs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from app.base import names
from app.engine.core.definition import TaskDefinition
from app.engine.core.task_state import TaskState
from app.engine.drive.callbacks import Heartbeat
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.ownership.directory import Directory
from app.engine.drive.ownership.state_reader import Progress, StateReader
from app.engine.drive.standing import GroupStanding
from app.engine.drive.transactions.writer import TaskWriter

log = logging.getLogger(__name__)

HEARTBEAT_AGAIN_SECONDS = 0.2


class Start(Protocol):
    """Starts a task that is whole: its state equals its log, and its writer has fenced all others.

    `TakeOver` calls it on the loop, for each task as soon as its own changelog is read, while others are still being
    read. It must not block: it makes a runner and starts its loop. From then on the writer is the runner's to stop.
    """

    def __call__(self, partition: int, state: TaskState, writer: TaskWriter) -> None: ...


class TakeOver:
    """Takes over tasks of one group; `heartbeat` says whether the group still counts this worker among its members."""

    def __init__(
        self,
        definition: TaskDefinition,
        directory: Directory,
        connections: Connections,
        heartbeat: Heartbeat,
    ) -> None:
        self._definition, self._directory, self._connections = definition, directory, connections
        self._heartbeat = heartbeat
        self._reader = StateReader(definition, connections, directory.partitions)

    @property
    def records_read(self) -> int:
        """Of changelogs, since the worker began: it grows while a take-over gets on."""
        return self._reader.records_read

    async def take(self, wanted: Sequence[int], kept: Mapping[int, TaskState], start: Start) -> None:
        """Order matters (rule 4): an accepted heartbeat, the fence, then the changelog to its high watermark.

        Each task is started, and answers queries, as soon as its own state is whole. `kept` are states that were
        this worker's, of which only the rest of the changelog is read.
        """
        if not wanted:
            return
        began = time.monotonic()
        await self._accepted_by_group()
        self._directory.standing = GroupStanding.RECOVERING
        writers = {partition: self._new_writer(partition) for partition in wanted}

        def ready(partition: int, state: TaskState) -> None:
            start(partition, state, writers.pop(partition))
            self._directory.recovering.pop(partition, None)

        try:
            await asyncio.gather(*(writer.fence() for writer in writers.values()))
            await self._reader.read(wanted, kept, ready=ready, progress=self._note_progress)
        finally:
            self._directory.recovering = {}
            await asyncio.gather(*(writer.stop() for writer in writers.values()))  # of those that have not started
            self._directory.replayed_records = self.records_read
        name, seconds = self._definition.name, time.monotonic() - began
        self._directory.took_over_seconds = seconds
        log.info("%s: tasks %s taken over in %.2f s", name, listed(wanted), seconds)

    async def _accepted_by_group(self) -> None:
        """Waits for it. A member that is refused rejoins, and the rebalance that follows cancels the take-over."""
        while not await self._heartbeat():
            await asyncio.sleep(HEARTBEAT_AGAIN_SECONDS)

    def _new_writer(self, partition: int) -> TaskWriter:
        application, name = self._definition.application, self._definition.name
        task_id = names.transactional_id(application, name, partition)
        return TaskWriter(self._connections.client, task_id, names.changelog_topic(application, name), partition)

    def _note_progress(self, progress: Progress) -> None:
        self._directory.recovering[progress.partition] = (progress.done_offsets, progress.all_offsets)


def listed(partitions: Iterable[int]) -> str:
    """Tasks as the log names them."""
    return ", ".join(map(str, sorted(partitions)))
