"""The Faust application: stock Faust with the columnar driver, the take-over, and no settings from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import faust
from faust.app.base import BootStrategy

from app.base.settings import Settings
from app.engine.driver import ColumnarTransport
from app.engine.faust_options import faust_options
from app.engine.logs import settle
from app.engine.recovery import TakeOverTableManager
from app.engine.source_table import SourceTable


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
        settle(logger, level)


class FlagfallApp(faust.App):
    """`source_table` is set by the wiring before the worker starts."""

    BootStrategy = WithoutOpenPages
    source_table: SourceTable

    def __init__(self, settings: Settings, url: str) -> None:
        worker = settings.worker
        super().__init__(
            settings.app_id,
            **faust_options(settings.kafka),
            env={},  # Faust lets generic variables such as BROKER_URL override code
            TableManager=TakeOverTableManager,
            Topic=NamedTopic,
            Worker=QuietWorker,
            autodiscover=False,
            datadir=settings.data_dir / "faust",
            store="memory://",
            canonical_url=url,
            web_enabled=False,
            topic_allow_declare=False,
            topic_disable_leader=True,
            topic_partitions=settings.topics.partitions,
            topic_replication_factor=settings.topics.replication_factor,
            table_standby_replicas=0,
            broker_session_timeout=worker.session_timeout_seconds,
            broker_heartbeat_interval=worker.heartbeat_interval_seconds,
            broker_rebalance_timeout=worker.rebalance_timeout_seconds,
            broker_request_timeout=max(90.0, worker.session_timeout_seconds),
            consumer_auto_offset_reset="earliest",
            stream_recovery_delay=0.0,
            stream_wait_empty=False,  # tasks are quiesced at a transaction's end; the rest is read again
        )
        self.worker_settings = worker
        self.edges: list[Any] = []
        """Services that answer from the first moment on, before recovery: they say that they are not ready."""
        self.checks: list[Callable[[], None]] = []
        """Asked before the group is joined, each in a thread; what one raises ends the worker."""

    async def on_start(self) -> None:
        await super().on_start()
        for edge in self.edges:
            await self.add_runtime_dependency(edge)
        for check in self.checks:
            await asyncio.to_thread(check)

    def _new_transport(self) -> ColumnarTransport:
        return ColumnarTransport(self.conf.broker_consumer, self)

    def task_owners(self) -> dict[int, str]:
        """Base URL of the owner of each task, as the group's leader last told."""
        distribution: dict[str, Any] = self.assignor.tables_metadata()
        topic = self.source_table.changelog_name
        return {
            partition: str(url).rstrip("/")
            for url, topics in distribution.items()
            for partition in topics.get(topic, ())
        }
