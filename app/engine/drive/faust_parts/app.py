"""The Faust application: stock Faust with the columnar driver, the take-over, and no settings from outside."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import faust
from faust.app.base import BootStrategy
from prometheus_client import CollectorRegistry, ProcessCollector

from app.base.kafka.cluster import Cluster
from app.base.kafka.group_members import Members
from app.base.log_lines import JsonLines
from app.base.settings import Settings
from app.engine.core.definition import TaskDefinition
from app.engine.drive import start_checks
from app.engine.drive.budget import TransactionBudget
from app.engine.drive.ending import Ending, ExitCode, Stalled, leave
from app.engine.drive.faust_parts.assignor import AddressedAssignor
from app.engine.drive.faust_parts.driver import ColumnarTransport
from app.engine.drive.faust_parts.groups import TaskGroups
from app.engine.drive.faust_parts.options import faust_options, worker_options
from app.engine.drive.faust_parts.recovery import TakeOverTableManager
from app.engine.drive.faust_parts.source_table import SourceTable
from app.engine.drive.folding_threads import FoldingThreads
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.logs import settle
from app.engine.drive.ownership.directory import Directory, Membership
from app.engine.drive.ownership.standby import Standby
from app.engine.drive.questions import Check
from app.engine.drive.warm_up import warm_up
from app.engine.drive.watch.failures import Failures
from app.engine.drive.watch.idle import IdleWatch
from app.engine.drive.watch.input_watch import InputWatch
from app.engine.drive.watch.liveness import Liveness
from app.engine.drive.watch.loop_watch import LoopWatch
from app.engine.drive.watch.own_address import OwnAddress, client_id_of, here_of

ASKING_SECONDS = 5.0
"""A question that may still be open when the worker is told to stop is shorter than the stop may take."""


def _log_lines(settings: Settings) -> JsonLines | None:
    """Those of a worker, if it logs JSON: with its application, and the address that others know it by."""
    if settings.log_format == "text":
        return None
    return JsonLines(application=settings.app_id, worker=settings.worker.url)


class WithoutOpenPages(BootStrategy):
    """Keeps Faust's own web server off, whatever the command line says: its pages ask nobody who they are."""

    enable_web = False


class NamedTopic(faust.Topic):
    """An agent's topics, which `faust agents` asks for one name; nothing is ever sent to several at once."""

    def get_topic_name(self) -> str:
        return ", ".join(self.topics) if len(self.topics) > 1 else str(super().get_topic_name())


class QuietWorker(faust.Worker):
    """Faust's worker process with our logging: few lines, and errors raised on purpose in words."""

    def on_setup_root_logger(self, logger: Any, level: int) -> None:
        super().on_setup_root_logger(logger, level)
        settle(logger, level, self.app.log_lines)

    def execute_from_commandline(self) -> NoReturn:
        try:
            super().execute_from_commandline()
        except SystemExit as told:
            if isinstance(self.crash_reason, Stalled):
                leave(ExitCode.STALLED)
            leave(ExitCode.FAILED if told.code else ExitCode.CLEAN)
        raise AssertionError("Faust's worker always exits")

    def _schedule_shutdown(self, signal: Any) -> None:
        self.app.ending.begin(ExitCode.BROKEN_OFF)
        super()._schedule_shutdown(signal)

    async def _sentinel_task(self) -> None:
        """The loop's last: every task has been gathered or cancelled, so one turn is enough, not mode's second."""
        await asyncio.sleep(0)


class FlagfallApp(faust.App):
    """A worker's application. The wiring adds task groups by `keep`, services and checks, before it starts."""

    BootStrategy = WithoutOpenPages

    def __init__(self, settings: Settings) -> None:
        worker = settings.worker
        client_id = client_id_of(worker)
        super().__init__(
            settings.app_id,
            **faust_options(settings.kafka),
            **worker_options(settings),
            PartitionAssignor=AddressedAssignor,
            TableManager=TakeOverTableManager,
            Topic=NamedTopic,
            Worker=QuietWorker,
            broker_client_id=client_id,
        )
        self.worker_settings, self._url = worker, str(self.conf.canonical_url).rstrip("/")  # as the group is told it
        self._kafka = settings.kafka
        self.log_lines = _log_lines(settings)
        self._budget, self._threads = TransactionBudget(worker.transactions_per_second), FoldingThreads()
        self._failures = Failures(settings.data_dir / "failures", settings.app_id)
        self.groups = TaskGroups(Membership(worker.session_timeout_seconds))
        self.ending = Ending(worker.stop_timeout_seconds)
        self.registry = CollectorRegistry()
        """What Prometheus is told of the worker itself."""
        ProcessCollector(registry=self.registry)
        self.loop_watch = LoopWatch(worker.stalled_exit_seconds, self.registry)
        self.liveness = Liveness(
            lambda: [table.look() for table in self.groups],
            Cluster(settings.kafka, timeout_seconds=worker.stalled_seconds / 2),
            self.registry,
            stalled_seconds=worker.stalled_seconds,
            exit_seconds=worker.stalled_exit_seconds,
            end=self.fail,
        )
        self.own_address = OwnAddress(
            here_of(settings, client_id),
            Members(settings.kafka, settings.app_id),
            patience_seconds=worker.session_timeout_seconds + 2 * worker.heartbeat_interval_seconds,
            end=self.fail,
        )
        self.edges: list[Any] = [self.loop_watch, self.liveness, self.own_address]
        """Services that run from the first moment on, before recovery: they say that the worker is not ready."""
        self.checks: list[Check] = []
        """Asked before the group is joined, each in a thread (`start_checks`); what one raises ends the worker."""
        self._failed = False

    def keep(self, definition: TaskDefinition, connections: Connections) -> SourceTable:
        """Add a task group: its tables, changelog and tasks. GroupsOverlap if another group reads its inputs."""
        worker = self.worker_settings
        table = SourceTable(
            self,
            definition,
            Directory(self._url, self.conf.topic_partitions, membership=self.groups.membership),
            connections,
            self._budget,
            self._threads,
            failures=self._failures,
            hold_records=worker.hold_records,
            grace_seconds=worker.session_timeout_seconds,
        )
        self.groups.add(table)
        self.tables.add(table)
        if worker.standby:
            table.standby = Standby(definition, connections, table.directory, lambda: table.assigned)
            self.edges.append(table.standby)
        watched = Cluster(self._kafka, timeout_seconds=ASKING_SECONDS)
        partitions = table.directory.partitions
        self.edges.append(
            InputWatch(
                watched,
                definition.topics,
                table.changelog_name,
                lambda: table.begun,
                partitions=partitions,
                end=self.fail,
            )
        )
        if worker.idle_after_seconds:
            self.edges.append(self._idle_watch(table, connections))
        return table

    def _idle_watch(self, table: SourceTable, connections: Connections) -> IdleWatch:
        return IdleWatch(
            table.definition,
            connections,
            lambda: table.runners,
            partitions=table.directory.partitions,
            idle_after_seconds=self.worker_settings.idle_after_seconds,
        )

    async def fail(self, error: BaseException) -> None:
        """End the worker, once: what else fails after it, often for the same reason, would only hide it."""
        if self._failed:
            return
        self._failed = True
        if isinstance(error, Stalled):
            self.ending.begin(ExitCode.STALLED)
        await self.crash(error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}"))

    async def on_start(self) -> None:
        self.ending.loop = asyncio.get_running_loop()
        await super().on_start()
        warm_up(table.definition for table in self.groups)
        for edge in self.edges:
            await self.add_runtime_dependency(edge)
        for check in self.checks:
            await start_checks.require(check)

    def _crash(self, reason: BaseException) -> None:
        """However the crash came about: from here on the process ends, in bounded time."""
        self.ending.begin(ExitCode.FAILED)
        super()._crash(reason)

    def _new_transport(self) -> ColumnarTransport:
        return ColumnarTransport(self.conf.broker_consumer, self)

    def task_owners(self, changelog: str) -> dict[int, str]:
        """Base URL of the owner of each task of the group with that changelog, as the group's leader last told."""
        distribution: dict[str, Any] = self.assignor.tables_metadata()
        return {
            partition: str(url).rstrip("/")
            for url, topics in distribution.items()
            for partition in topics.get(changelog, ())
        }
