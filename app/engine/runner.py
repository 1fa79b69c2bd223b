"""Runs one task: what is offered while a transaction is under way is merged and becomes the next batch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from app.codecs.avro_decode import schema_ids
from app.engine.batch import Batch
from app.engine.schemas import SchemaCache
from app.engine.task import TaskCore
from app.engine.writer import TaskWriter

log = logging.getLogger(__name__)

Done = Callable[[], None]


class TaskRunner:
    """One task's loop: take a batch, plan, write, commit.

    `on_failure` is told what ended the loop (a fence, a refused batch, a lost broker); the state must then be
    dropped, for the log may hold more than it. `full` and `drained` tell the fetcher of back-pressure, per topic;
    `on_gap` (topic, offset) is asked to fetch from that offset again.
    """

    def __init__(
        self,
        core: TaskCore,
        writer: TaskWriter,
        schemas: SchemaCache,
        *,
        hold_records: int,
        full: Callable[[str], None],
        drained: Callable[[str], None],
        on_gap: Callable[[str, int], None],
        on_failure: Callable[[TaskRunner, BaseException], None],
    ) -> None:
        self.core, self.writer = core, writer
        self._schemas, self._hold_records = schemas, hold_records
        self._full, self._drained, self._on_gap, self._on_failure = full, drained, on_gap, on_failure
        self._expected = dict(core.state.marker.next_offsets)
        self._waiting: dict[str, list[tuple[Batch, Done]]] = {}
        self._blocked: set[str] = set()
        self._wakeup = asyncio.Event()
        self._stopping = self._failed = self._writing = False
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; batches may be offered from now on."""
        self._loop = asyncio.create_task(self._run(), name=f"task-{self.core.state.partition}")

    def offer(self, batch: Batch, done: Done) -> None:
        """Hand over a batch; `done` is called when its transaction has been committed.

        One that does not follow what came before (fetched before a seek, say) is dropped, and `on_gap` told which
        offset is wanted.
        """
        expected = self._expected[batch.topic]
        if batch.base_offset > expected:
            self._on_gap(batch.topic, expected)
            return
        self._expected[batch.topic] = max(expected, batch.next_offset)
        self._waiting.setdefault(batch.topic, []).append((batch, done))
        if sum(len(b) for b, _ in self._waiting[batch.topic]) >= self._hold_records:
            self._blocked.add(batch.topic)
            self._full(batch.topic)
        self._wakeup.set()

    async def stop(self, grace_seconds: float) -> bool:
        """Finish the transaction under way and stop; False if it had to be broken off (the state is void then).

        What is not yet being written (it may wait for a registry) is the next owner's.
        """
        self._stopping = True
        self._wakeup.set()
        clean = True
        if self._loop is not None:
            if self._writing:
                await asyncio.wait([self._loop], timeout=grace_seconds)
            self._loop.cancel()
            await asyncio.wait([self._loop])
            clean = not self._failed and not self._writing
        await self.writer.stop()
        return clean

    async def _run(self) -> None:
        try:
            while not self._stopping:
                topic = next((t for t, waiting in self._waiting.items() if self.core.is_due(waiting[0][0])), None)
                if topic is None:
                    self._wakeup.clear()
                    await self._wakeup.wait()
                else:
                    await self._do_one(*self._take(topic))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a panic of Polars is no Exception; whoever is told must not miss it
            self._failed = True
            self._on_failure(self, error)

    def _take(self, topic: str) -> tuple[Batch, list[Done]]:
        """What waits of a topic, merged up to the largest batch; the topic goes to the end of the line."""
        waiting = self._waiting.pop(topic)
        merged, done = waiting[0]
        dones, used = [done], 1
        for batch, done in waiting[1:]:
            follows = batch.base_offset == merged.next_offset and self.core.is_due(batch)
            if len(merged) >= self._hold_records or not follows:
                break
            merged, used = merged.behind(batch), used + 1
            dones.append(done)
        if waiting[used:]:
            self._waiting[topic] = waiting[used:]
        elif topic in self._blocked:
            self._blocked.discard(topic)
            self._drained(topic)
        return merged, dones

    async def _do_one(self, batch: Batch, dones: list[Done]) -> None:
        schemas = await self._schemas.having(schema_ids(batch.values))
        transaction = self.core.plan(batch, schemas)
        if transaction is not None:
            self._writing = True
            marker_offset = await self.writer.write(transaction)
            self.core.commit(transaction, marker_offset)
            self._writing = False
        for done in dones:
            done()
