"""The tables of a task group as Faust sees them: one changelog, tasks taken over in Faust's own recovery."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from typing import Any

import faust
from faust.types import TP

from app.base import names
from app.domain.errors import FlagfallError
from app.domain.marker import Marker
from app.domain.records import TopicPartition
from app.engine.core.batch import Batch
from app.engine.core.definition import TaskDefinition
from app.engine.core.task import TaskCore
from app.engine.core.task_state import TaskState
from app.engine.drive import background
from app.engine.drive.budget import TransactionBudget
from app.engine.drive.callbacks import BackPressure
from app.engine.drive.faust_parts.store import NoStore
from app.engine.drive.folding_threads import FoldingThreads
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.refetch import Refetch
from app.engine.drive.kafka.rereading import Rereader
from app.engine.drive.ownership.directory import Directory
from app.engine.drive.ownership.retaking import Retaking
from app.engine.drive.ownership.standby import Standby
from app.engine.drive.ownership.take_over import TakeOver, listed
from app.engine.drive.runner import TaskRunner
from app.engine.drive.standing import GroupStanding, ProgressSample
from app.engine.drive.transactions.writer import Fenced, TaskWriter
from app.engine.drive.watch.failures import Failures

log = logging.getLogger(__name__)


class SourceTable(faust.Table):
    """Tables of all views of one task group, in one changelog topic; one runner per owned task.

    Faust calls `take_over` (through its recovery) after an assignment and `quiesce` before a revocation;
    agents call `offer`. `app` is a FlagfallApp, which makes these by `keep`.
    """

    def __init__(
        self,
        app: Any,
        definition: TaskDefinition,
        directory: Directory,
        connections: Connections,
        budget: TransactionBudget,
        threads: FoldingThreads,
        *,
        failures: Failures,
        hold_records: int,
        grace_seconds: float,
    ) -> None:
        views = ", ".join(view.name for view in definition.views)
        super().__init__(
            app,
            name=definition.name,
            key_type=bytes,
            value_type=bytes,
            partitions=directory.partitions,
            help=f"views over {definition.name}: {views}",
        )
        self.definition, self.directory = definition, directory
        self._connections, self._budget, self._threads = connections, budget, threads
        self._taking = TakeOver(definition, directory, connections, self._heartbeat)
        self._retaking = Retaking(definition.name, self._retake, app.fail)
        self._rereader = Rereader(definition.application, connections)
        self._refetch = Refetch(app, connections.cluster)
        self._failures, self._hold_records, self._grace_seconds = failures, hold_records, grace_seconds
        self.standby: Standby | None = None
        self._assigned: set[int] = set()
        self._runners: dict[int, TaskRunner] = {}
        self._begun: dict[int, Marker] = {}
        self._kept: dict[int, TaskState] = {}

    @property
    def changelog_name(self) -> str:
        """The changelog topic of all tasks."""
        return names.changelog_topic(self.definition.application, self.name)

    @property
    def assigned(self) -> Set[int]:
        """The tasks that the group's last assignment gave to this worker, whether they run yet or not."""
        return self._assigned

    @property
    def runners(self) -> Mapping[int, TaskRunner]:
        """The tasks that run here now, by partition."""
        return self._runners

    @property
    def begun(self) -> Mapping[int, Marker]:
        """The marker with which each task last began here, whether it still runs here or not, by partition."""
        return self._begun

    def offer(self, event: Any) -> None:
        """Hand an agent's event (whose value is a batch) to its task; it is acknowledged after its commit.

        A batch for a task that is not owned any more is dropped: its next owner reads it again.
        """
        batch: Batch = event.value
        runner = self._runners.get(batch.partition)
        if runner is not None:
            runner.offer(batch, event.ack)

    def positions(self) -> dict[TP, int]:
        """Where each input of each owned task goes on."""
        return self._positions_of(self._runners)

    def look(self) -> ProgressSample:
        """The group as it is now, for the watch on its progress."""
        runners = self._runners
        positions = {TopicPartition(tp.topic, tp.partition): at for tp, at in self.positions().items()}
        return ProgressSample(
            self.name,
            self.directory.standing_now,
            self._taking.records_read,
            positions,
            {place: runners[place.partition].doing(place.topic) for place in positions},
            {TopicPartition(topic, partition) for partition, one in runners.items() for topic in one.not_due()},
        )

    async def quiesce(self) -> None:
        """Stop every task at a transaction's end; states that are sure to equal their log are kept for a while."""
        self.directory.standing = GroupStanding.REBALANCING
        runners, self._runners = self._runners, {}
        await self._retaking.stop()
        runners, self._runners = runners | self._runners, {}
        if runners:
            log.info("%s: tasks %s: handing over, at a transaction's end", self.name, listed(runners))
        stopped = await asyncio.gather(*(runner.stop(self._grace_seconds) for runner in runners.values()))
        for (partition, runner), clean in zip(runners.items(), stopped, strict=True):
            self._let_flow(partition)
            if clean:
                self._kept[partition] = runner.core.state
        self.directory.hand_over(self._kept)

    async def take_over(self, partitions: Iterable[int]) -> None:
        """Fence the former owners of these tasks, restore their states, and start them. Others are given up."""
        self._assigned = set(partitions)
        await self.quiesce()  # another rebalance may have come while the last take-over went on
        self.directory.standing = GroupStanding.RECOVERING
        self.directory.owners = self.app.task_owners(self.changelog_name)
        kept, self._kept = self._kept, {}
        if self.standby is not None:
            kept = await self.standby.exchange(self._assigned, kept) | kept
        self.directory.copies = {}  # from here on they are read on
        await self._take(self._assigned, kept)
        self._tell_if_whole()

    async def on_stop(self) -> None:
        """Faust stops tables before the consumer: what is under way is committed, the rest is the next owner's."""
        await self.quiesce()
        self.directory.standing = GroupStanding.STOPPING
        await super().on_stop()

    async def _take(self, wanted: Iterable[int], kept: Mapping[int, TaskState]) -> None:
        await self._taking.take(sorted(wanted), kept, self._start)

    def _start(self, partition: int, state: TaskState, writer: TaskWriter) -> None:
        self._begun[partition] = state.marker
        self._connections.schemas.expect(state.marker.schemas)
        runner = TaskRunner(
            TaskCore(self.definition, state),
            writer,
            self._connections.schemas,
            reread=self._rereader.read,
            ask_log_ends=lambda: self._log_ends(partition),
            budget=self._budget,
            threads=self._threads,
            hold_records=self._hold_records,
            full=_at(partition, self.app.consumer.on_buffer_full),
            drained=_at(partition, self.app.consumer.on_buffer_drop),
            on_gap=lambda topic, offset: self._refetch.begin(TP(topic, partition), offset),
            on_failure=self._on_failure,
        )
        self._runners[partition] = runner
        self.directory.tasks[partition] = state
        runner.start()

    async def _log_ends(self, partition: int) -> dict[str, int]:
        places = [TopicPartition(topic, partition) for topic in self.definition.by_topic]
        ends = await asyncio.to_thread(self._connections.cluster.log_ends, places, committed=False)
        return {place.topic: end for place, end in ends.items()}

    def _on_failure(self, runner: TaskRunner, error: BaseException) -> None:
        """A fenced task is dropped, and taken again unless it is being handed over: then it is its next owner's.
        Anything else stops the worker, so that no batch is passed over."""
        partition = runner.core.state.partition
        if is_here := self._runners.get(partition) is runner:
            del self._runners[partition], self.directory.tasks[partition]
        if not isinstance(error, Fenced):
            trace = None if isinstance(error, FlagfallError) else error  # else its words follow with the worker's end
            log.error("task %d of %s failed, the worker stops", partition, self.name, exc_info=trace)
            self._failures.note(self.name, partition, error, runner.stood)
            background.begin(self._give_up(runner, error), f"ending by task {partition} of {self.name}")
        elif is_here:
            log.warning("%s; this worker drops task %d", error, partition)
            self.directory.standing = GroupStanding.REBALANCING
            self._retaking.begin(runner)

    async def _retake(self, fenced: Collection[int]) -> None:
        for partition in fenced:
            self._let_flow(partition)
        await self._take(fenced, {})
        await self.app.consumer.seek_wait(self._positions_of(fenced))
        self._tell_if_whole()

    def _tell_if_whole(self) -> None:
        """A task may have been fenced while others were still being taken over: the last to come tells."""
        if self._runners.keys() == self._assigned:
            self.directory.standing = GroupStanding.READY
            here = listed(self._assigned) or "none"
            log.info("%s: ready: %s of %d tasks here", self.name, here, self.directory.partitions)

    async def _give_up(self, runner: TaskRunner, error: BaseException) -> None:
        await self.app.fail(error)
        await runner.writer.stop()

    async def _heartbeat(self) -> bool:
        return bool(await self.app.consumer.heartbeat())

    def _let_flow(self, partition: int) -> None:
        """Undo what a runner said of back-pressure: one that is gone drains nothing any more."""
        drained = _at(partition, self.app.consumer.on_buffer_drop)
        for topic in self.definition.topics:
            drained(topic)

    def _positions_of(self, partitions: Iterable[int]) -> dict[TP, int]:
        return {
            TP(topic, p): offset
            for p in partitions
            if p in self._runners
            for topic, offset in self._runners[p].core.state.marker.next_offsets.items()
        }

    def _new_store(self) -> NoStore:
        """Rows live in the runners' states; Faust's store has nothing to hold."""
        return NoStore(self.app.conf.store, self.app, self, table_name=self.name)


def _at(partition: int, tell: Callable[[TP], None]) -> BackPressure:
    return lambda topic: tell(TP(topic, partition))
