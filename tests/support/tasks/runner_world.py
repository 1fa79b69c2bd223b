"""A runner over a writer that a test lets go on, and all that it tells."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.engine.core.batch import Batch
from app.engine.drive.folding_threads import FoldingThreads
from app.engine.drive.kafka.schemas import SchemaCache
from app.engine.drive.runner import TaskRunner
from tests.support.material.histories import SCHEMA
from tests.support.material.views import KNOWN_VIEWS
from tests.support.tasks.cores import new_core
from tests.support.tasks.runners import (
    GREEN,
    HOLD_RECORDS,
    VALUE,
    FakeWriter,
    LogEndsAsked,
    Registry,
    RegistryDownError,
    Turns,
    never,
)
from tests.support.tasks.task_batches import PARTITION, batch_of


class World:
    """A runner with all that it tells, in the order in which it told it."""

    def __init__(self) -> None:
        self.writer, self.registry, self.told = FakeWriter(), Registry(), list[tuple[object, ...]]()
        self.news, self.budget, self.log_ends = asyncio.Event(), Turns(), LogEndsAsked()
        self.threads = FoldingThreads()
        self.core = new_core(PARTITION, KNOWN_VIEWS)
        self.schemas = SchemaCache(self.registry.look_up, RegistryDownError)
        self.runner = TaskRunner(
            self.core,
            self.writer,  # type: ignore[arg-type]
            self.schemas,
            reread=never,
            ask_log_ends=self.log_ends,
            budget=self.budget,
            threads=self.threads,
            hold_records=HOLD_RECORDS,
            full=lambda topic: self.tell("full", topic),
            drained=lambda topic: self.tell("drained", topic),
            on_gap=lambda topic, offset: self.tell("gap", topic, offset),
            on_failure=lambda runner, error: self.tell("failed", runner, error),
        )

    def tell(self, *what: object) -> None:
        self.told.append(what)
        self.news.set()

    async def learn(self) -> None:
        """Let the worker know the rides' schema, as one that has been running does."""
        await self.schemas.having([SCHEMA.id])

    def offer(self, *batches: Batch) -> None:
        for batch in batches:
            self.runner.offer(batch, self._done(batch))

    def _done(self, batch: Batch) -> Callable[[], None]:
        name = ("done", batch.topic, batch.base_offset)
        return lambda: self.tell(*name, self.core.state.marker.inputs[batch.topic].next_offset)

    async def until(self, *what: object) -> None:
        """Until it is told something that begins so."""
        while not any(told[: len(what)] == what for told in self.told):
            self.news.clear()
            await self.news.wait()

    async def until_writing(self) -> None:
        await self.writer.begun.acquire()

    @property
    def cuts(self) -> list[dict[str, int]]:
        """Next offsets of the topics with records, per transaction written."""
        return [
            {topic: at for topic, at in transaction.marker.next_offsets.items() if at}
            for transaction in self.writer.written
        ]


def green(base: int, count: int = 1) -> Batch:
    return batch_of(GREEN, [VALUE] * count, base=base)
