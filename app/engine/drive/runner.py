"""Runs one task: what is offered while a transaction is under way is merged and becomes the next batch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence, Set
from typing import Protocol

from app.codecs.avro.schema import Schemas
from app.engine.core.advances import LogEnds
from app.engine.core.batch import Batch, Transaction
from app.engine.core.task import TaskCore
from app.engine.drive import background, failpoints
from app.engine.drive.budget import TransactionBudget
from app.engine.drive.callbacks import AskLogEnds, BackPressure, Done, OnGap, Reread
from app.engine.drive.folding_threads import FoldingThreads
from app.engine.drive.kafka.schemas import SchemaCache
from app.engine.drive.standing import Doing, Stood
from app.engine.drive.transactions.writer import TaskWriter
from app.engine.drive.waiting import TakenBatch, TakenParts, WaitingBatches
from app.engine.drive.withheld import Withheld, schema_ids

log = logging.getLogger(__name__)

FOLDS_BEFORE_UPKEEP = 4
"""Large batches that are folded, while there are more, before what follows from the watermarks is done for all at once:
closing, publishing and expiring take a transaction each, whatever they hold."""


class OnFailure(Protocol):
    """The runner's loop has ended by this error; nothing of the task's state may be believed any more.

    The runner calls it on the loop, last of all, once. It must not block, nor await: what follows (the task taken
    again after a fence, the worker's end after all else) is begun in the background.
    """

    def __call__(self, runner: TaskRunner, error: BaseException) -> None: ...


class TaskRunner:
    """One task's loop: take a batch, plan, write, commit; and what the core has to do of its own in between.

    `on_failure` is told what ended the loop (a fence, a refused batch, a lost broker); the state must then be
    dropped, for the log may hold more than it. `budget` and `threads` are shared by the worker's tasks.
    """

    def __init__(
        self,
        core: TaskCore,
        writer: TaskWriter,
        schemas: SchemaCache,
        *,
        reread: Reread,
        ask_log_ends: AskLogEnds,
        budget: TransactionBudget,
        threads: FoldingThreads,
        hold_records: int,
        full: BackPressure,
        drained: BackPressure,
        on_gap: OnGap,
        on_failure: OnFailure,
    ) -> None:
        self.core, self.writer = core, writer
        self._schemas, self._reread, self._ask_log_ends, self._budget = schemas, reread, ask_log_ends, budget
        self._threads, self._on_gap, self._on_failure = threads, on_gap, on_failure
        self._expected = dict(core.state.marker.next_offsets)
        self._wakeup = asyncio.Event()
        self._withheld = Withheld(schemas, self._wakeup.set)
        self._waiting = WaitingBatches(core, hold_records, full, drained, self._withheld.topics)
        self._folding: Sequence[Batch] = ()
        self._advances: dict[str, tuple[int, int]] = {}
        self._stopping = self._failed = self._asking = self._writing = self._awaiting_turn = False
        self._loop: asyncio.Task[None] | None = None
        self._name = f"{core.definition.name}: task {core.state.partition}"
        self._building: Set[str] = frozenset()

    def start(self) -> None:
        """Begin; batches may be offered from now on."""
        self._loop = background.begin(self._run(), self._name)

    def offer(self, batch: Batch, done: Done) -> None:
        """Hand over a batch; `done` is called when its transaction has been committed.

        One that does not follow what came before (fetched before a seek, say) is dropped, and `on_gap` told which
        offset is wanted.
        """
        failpoints.reached(failpoints.BATCH_OFFERED)
        expected = self._expected[batch.topic]
        if batch.base_offset > expected:
            self._on_gap(batch.topic, expected)
            return
        self._expected[batch.topic] = max(expected, batch.next_offset)
        self._waiting.add(batch, done)
        self._wakeup.set()

    def doing(self, topic: str) -> Doing:
        """What it is at now, as far as this topic waits for it."""
        if self._writing:
            return Doing.WRITING
        if self._asking or topic in self._withheld.topics:
            return Doing.ASKING_REGISTRY
        awaits = self._awaiting_turn and self._waiting.first(topic) is not None
        return Doing.AWAITING_TURN if awaits else Doing.NOTHING

    def not_due(self) -> list[str]:
        """Topics whose next batch is here and must wait for records of other topics."""
        return self._waiting.not_due()

    @property
    def stood(self) -> Stood:
        """What it is at, for whoever must name what made it fail."""
        ahead = {batch.topic: batch for batch in (*self._waiting.ahead, *self._withheld.ahead)}
        return Stood(self._folding, list(ahead.values()), self.core.state.marker.next_offsets)

    def advance(self, topic: str, at_offset: int, watermark_us: int) -> None:
        """Raise a watermark, if the task still stands at `at_offset` of the topic when its turn comes."""
        self._advances[topic] = (at_offset, watermark_us)
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
            self._loop = None  # its error holds this frame, and so the state, until garbage is collected
            clean = not self._failed and not self._writing
        await self.writer.stop()
        return clean

    async def _run(self) -> None:
        try:
            folded = 0
            while not self._stopping:
                await self._learn_log_ends()
                worked = await self._fold_next()
                folded = folded + 1 if worked and self._waiting.is_full else FOLDS_BEFORE_UPKEEP
                if folded >= FOLDS_BEFORE_UPKEEP:
                    kept_up = await self._write(await self._threads.run(self.core.keep_up))
                    folded = FOLDS_BEFORE_UPKEEP if kept_up else 0  # there may be more of it
                    worked |= kept_up
                worked |= await self._build_next()
                worked |= await self._advance_next()
                if not worked:
                    await self._wakeup.wait()
                self._wakeup.clear()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a panic of Polars is no Exception; whoever is told must not miss it
            self._failed = True
            self._on_failure(self, error)
        finally:
            self._withheld.drop()

    async def _learn_log_ends(self) -> None:
        """Ask where the logs end, if a request to advance waits for an offset that they may not have."""
        requests = self._waiting.first(self.core.definition.advance_requests)
        if requests is not None and self.core.wants_log_ends(requests):
            self.core.log_ends = LogEnds(requests.next_offset, await self._ask_log_ends())

    async def _fold_next(self) -> bool:
        """Fold what waits of the topics whose turn it is, and can be read; whether there was any."""
        if answered := self._withheld.take_answered():
            taken, schemas = answered
            await self._fold([taken], schemas)
            return True
        if not self._waiting.due():
            return False
        if not self._waiting.is_full:  # whoever has enough for a large transaction costs nothing by going on
            self._awaiting_turn = True
            await self._budget.turn()
            self._awaiting_turn = False
        due = self._waiting.take_due()
        self._folding = [part for one in due for part in one.parts]
        readable, schemas = self._withheld.readable(await self._threads.run(_merged, due))
        self._folding = ()
        if readable:
            await self._fold(readable, schemas)
        return True

    async def _build_next(self) -> bool:
        """Read again one stretch for the views that are being built; whether there are any."""
        stretch = self.core.to_build()
        if stretch is None:
            return False
        building = self.core.build_progress()
        for view in building.keys() - self._building:
            log.info("%s: %s is built anew, %d of %d offsets are read", self._name, view, *building[view])
        self._building = building.keys()
        batch, advances = await self._reread(stretch, self.core.state.partition)
        self._asking = True
        schemas = await self._schemas.having(schema_ids(batch))
        self._asking = False
        written = await self._write(await self._threads.run(self.core.build, batch, advances, schemas))
        for view in building.keys() - self.core.build_progress().keys():
            log.info("%s: %s is built, and answers", self._name, view)
        return written

    async def _advance_next(self) -> bool:
        """Raise one watermark that was asked for; whether any was asked for."""
        if not self._advances:
            return False
        topic, (at_offset, watermark_us) = self._advances.popitem()
        if self.core.state.marker.inputs[topic].next_offset == at_offset:
            await self._write(self.core.advance(topic, watermark_us))
        return True

    async def _write(self, transaction: Transaction | None) -> bool:
        """Write and commit what the core has planned; whether there was anything."""
        if transaction is None:
            return False
        self._writing = True
        marker_offset = await self.writer.write(transaction)
        self.core.commit(transaction, marker_offset)
        self._writing = False
        return True

    def _planned(self, batches: Sequence[Batch], schemas: Schemas) -> Transaction | None:
        return self.core.plan(self.core.read(batches, schemas))

    async def _fold(self, taken: Sequence[TakenBatch], schemas: Schemas) -> None:
        self._folding = [batch for batch, _ in taken]
        failpoints.reached(failpoints.BATCH_TAKEN)
        await self._write(await self._threads.run(self._planned, self._folding, schemas))
        self._folding = ()
        failpoints.reached(failpoints.BATCH_APPLIED)
        for done in (done for _, dones in taken for done in dones):
            done()


def _merged(due: Sequence[TakenParts]) -> list[TakenBatch]:
    taken = [one.merged() for one in due]
    for batch, _ in taken:
        schema_ids(batch)  # looked through here, where it holds nobody up; the batch keeps them
    return taken
