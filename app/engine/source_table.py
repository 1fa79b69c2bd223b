"""The tables of a source as Faust sees them: one changelog, tasks taken over in Faust's own recovery."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import Any

import faust
from faust.types import TP

from app.base import names
from app.domain.errors import FlagfallError
from app.domain.records import TopicPartition
from app.engine.batch import Batch
from app.engine.connections import Connections
from app.engine.directory import Directory, Standing
from app.engine.inputs import log_loss
from app.engine.runner import TaskRunner
from app.engine.state import TaskState
from app.engine.state_reader import StateReader
from app.engine.store import NoStore
from app.engine.task import TaskCore, TaskDefinition
from app.engine.writer import Fenced, TaskWriter

log = logging.getLogger(__name__)

FENCED_BACKOFF_SECONDS = 1.0
HEARTBEAT_AGAIN_SECONDS = 0.2


class SourceTable(faust.Table):
    """Tables of all views of one source, in one changelog topic; one runner per owned task.

    Faust calls `take_over` (through its recovery) after an assignment and `quiesce` before a revocation;
    agents call `offer`.
    """

    def __init__(
        self,
        app: faust.App,
        definition: TaskDefinition,
        directory: Directory,
        connections: Connections,
        *,
        partitions: int,
        hold_records: int,
        grace_seconds: float,
    ) -> None:
        views = ", ".join(view.name for view in definition.views)
        super().__init__(
            app,
            name=definition.source.name,
            key_type=bytes,
            value_type=bytes,
            partitions=partitions,
            help=f"views over {definition.source.name}: {views}",
        )
        self.definition, self.directory = definition, directory
        self._connections = connections
        self._reader = StateReader(definition, connections, partitions)
        self._hold_records, self._grace_seconds = hold_records, grace_seconds
        self._runners: dict[int, TaskRunner] = {}
        self._kept: dict[int, TaskState] = {}
        self._seeking: set[TP] = set()
        self._failed = False
        directory.partitions = partitions

    @property
    def changelog_name(self) -> str:
        """The changelog topic of all tasks."""
        return names.changelog_topic(self.definition.application, self.definition.source.name)

    def offer(self, event: Any) -> None:
        """Hand an agent's event (whose value is a batch) to its task; it is acknowledged after its commit.

        A batch for a task that is not owned any more is dropped: its next owner reads it again.
        """
        batch: Batch = event.value
        runner = self._runners.get(batch.partition)
        if runner is not None:
            runner.offer(batch, event.ack)

    def heartbeat_accepted(self, at_seconds: float) -> None:
        """The group still counts this worker in (monotonic clock)."""
        self.directory.heartbeat_at_seconds = at_seconds

    def log_ends_seen(self, ends: dict[tuple[str, int], int]) -> None:
        """Ends of logs as the last fetches told, for the lag in answers."""
        self.directory.log_end.update(ends)

    def positions(self) -> dict[TP, int]:
        """Where each input of each owned task goes on."""
        return {
            TP(topic, partition): offset
            for partition, runner in self._runners.items()
            for topic, offset in runner.core.state.marker.next_offsets.items()
        }

    async def quiesce(self) -> None:
        """Stop every task at a transaction's end; states that are sure to equal their log are kept for a while."""
        self.directory.standing = Standing.REBALANCING
        runners, self._runners = self._runners, {}
        if runners:
            log.info("tasks %s: handing over, at a transaction's end", _listed(runners))
        stopped = await asyncio.gather(*(runner.stop(self._grace_seconds) for runner in runners.values()))
        for (partition, runner), clean in zip(runners.items(), stopped, strict=True):
            if clean:
                self._kept[partition] = runner.core.state
        self.directory.tasks = {}

    async def take_over(self, partitions: Iterable[int]) -> None:
        """Fence the former owners of these tasks, restore their states, and start them.

        Order matters (rule 4): an accepted heartbeat, the fence, then the changelog to its high watermark.
        """
        wanted = sorted(set(partitions))
        await self.quiesce()  # another rebalance may have come while the last take-over went on
        self.directory.standing = Standing.RECOVERING
        kept, self._kept = self._kept, {}
        if not wanted:
            return
        began = time.monotonic()
        await self._accepted_by_group()
        writers = {p: self._new_writer(p) for p in wanted}
        try:
            await asyncio.gather(*(writer.fence() for writer in writers.values()))
            states = await self._reader.read(wanted, kept)
        except BaseException:
            await asyncio.gather(*(writer.stop() for writer in writers.values()))
            raise
        for partition, state in states.items():
            self._start(partition, TaskCore(self.definition, state), writers[partition])
        log.info("tasks %s taken over in %.2f s", _listed(wanted), time.monotonic() - began)

    async def on_stop(self) -> None:
        """Faust stops tables before the consumer: what is under way is committed, the rest is the next owner's."""
        await self.quiesce()
        self.directory.standing = Standing.STOPPING
        await super().on_stop()

    def ready(self, owners: dict[int, str]) -> None:
        """Recovery is complete and the flow resumes."""
        self.directory.owners = owners
        self.directory.standing = Standing.READY
        log.info("ready: %s of %d tasks here", _listed(self._runners) or "none", self.directory.partitions)

    def _start(self, partition: int, core: TaskCore, writer: TaskWriter) -> None:
        def tell(what: Any) -> Any:
            return lambda topic: what(TP(topic, partition))

        runner = TaskRunner(
            core,
            writer,
            self._connections.schemas,
            hold_records=self._hold_records,
            full=tell(self.app.consumer.on_buffer_full),
            drained=tell(self.app.consumer.on_buffer_drop),
            on_gap=lambda topic, offset: self._seek_again(TP(topic, partition), offset),
            on_failure=self._on_failure,
        )
        self._runners[partition] = runner
        self.directory.tasks[partition] = core.state
        runner.start()

    def _seek_again(self, tp: TP, offset: int) -> None:
        """Fetch from where the state ends. What is dropped meanwhile comes again; the log may not begin later."""
        if tp not in self._seeking:
            log.info("%s-%d: fetching again from offset %d", tp.topic, tp.partition, offset)
            self._seeking.add(tp)
            asyncio.create_task(self._seek(tp, offset))  # noqa: RUF006

    async def _seek(self, tp: TP, offset: int) -> None:
        place = TopicPartition(tp.topic, tp.partition)
        try:
            start = (await asyncio.to_thread(self._connections.cluster.log_starts, [place]))[place]
            if start > offset:
                await self._stop_worker(log_loss(place, start, offset))
            elif tp in self.app.consumer.assignment():
                await self.app.consumer.seek_wait({tp: offset})
        except Exception as error:
            await self._stop_worker(error)
        finally:
            self._seeking.discard(tp)

    def _on_failure(self, runner: TaskRunner, error: BaseException) -> None:
        """A fenced task is dropped; anything else stops the worker, so that no batch is passed over."""
        partition = runner.core.state.partition
        self._runners.pop(partition, None)
        self.directory.tasks.pop(partition, None)
        if isinstance(error, Fenced):
            log.warning("%s; this worker drops task %d", error, partition)
            self.directory.standing = Standing.REBALANCING
            asyncio.create_task(self._after_fence(runner))  # noqa: RUF006  (ends by itself; Faust owns the loop)
            return
        trace = None if isinstance(error, FlagfallError) else error  # else its words follow with the worker's end
        log.error("task %d of %s failed, the worker stops", partition, self.definition.source.name, exc_info=trace)
        asyncio.create_task(self._give_up(runner, error))  # noqa: RUF006

    async def _after_fence(self, runner: TaskRunner) -> None:
        """If the group still assigns the partition to this worker, it is taken over again by a new rebalance."""
        await runner.writer.stop()
        await asyncio.sleep(FENCED_BACKOFF_SECONDS)
        self.app.tables.recovery.signal_recovery_start.set()

    async def _give_up(self, runner: TaskRunner, error: BaseException) -> None:
        await self._stop_worker(error)
        await runner.writer.stop()

    async def _stop_worker(self, error: BaseException) -> None:
        """Once: what else fails after it, often for the same reason, would only hide it."""
        if self._failed:
            return
        self._failed = True
        reason = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
        await self.app.crash(reason)

    async def _accepted_by_group(self) -> None:
        """Waits for it. A member that is refused rejoins, and the rebalance that follows cancels the take-over."""
        while not await self.app.consumer._thread.heartbeat():
            await asyncio.sleep(HEARTBEAT_AGAIN_SECONDS)

    def _new_writer(self, partition: int) -> TaskWriter:
        name, source = self.definition.application, self.definition.source.name
        return TaskWriter(
            self._connections.client,
            names.transactional_id(name, source, partition),
            self.changelog_name,
            partition,
        )

    def _new_store(self) -> NoStore:
        """Rows live in the runners' states; Faust's store has nothing to hold."""
        return NoStore(self.app.conf.store, self.app, self, table_name=self.name)


def _listed(partitions: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(partitions)))
