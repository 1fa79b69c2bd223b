"""Runners without a broker: what they write goes to a list, and fails when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from app.codecs.avro.schema import WriterSchema
from app.domain.advance import Advance
from app.engine.core.batch import Batch, Transaction
from app.engine.drive.budget import TransactionBudget
from tests.support.material.histories import SCHEMA, TOPIC_NAMES, encode
from tests.support.tasks.task_batches import batch_of, ride

YELLOW, GREEN = TOPIC_NAMES[:2]

VALUE = encode(ride())

HOLD_RECORDS = 4


class RegistryDownError(Exception):
    """The registry cannot be reached."""


@dataclass
class FakeWriter:
    """Keeps what was committed; each write waits for its turn when `held`, and fails with `error` if there is one."""

    error: BaseException | None = None
    written: list[Transaction] = field(default_factory=list)
    begun: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    turns: asyncio.Semaphore | None = None
    stopped: bool = False

    def hold(self) -> None:
        """From now on every write hangs until `let_go`."""
        self.turns = asyncio.Semaphore(0)

    def let_go(self, writes: int = 1) -> None:
        assert self.turns is not None
        for _ in range(writes):
            self.turns.release()

    async def write(self, transaction: Transaction) -> int:
        self.begun.release()
        if self.turns is not None:
            await self.turns.acquire()
        if self.error is not None:
            raise self.error
        self.written.append(transaction)
        return 100 + len(self.written)

    async def stop(self) -> None:
        self.stopped = True


@dataclass
class Registry:
    """Answers look-ups; raises as often as it is told to first, and for ids that are `silent_about`."""

    failures: int = 0
    silent_about: Collection[int] = ()
    asked: list[int] = field(default_factory=list)
    after_look_up: Callable[[], None] = lambda: None

    def look_up(self, schema_id: int) -> WriterSchema | None:
        self.asked.append(schema_id)
        self.after_look_up()
        if self.failures or schema_id in self.silent_about:
            self.failures -= bool(self.failures)
            raise RegistryDownError("no route")
        return SCHEMA if schema_id == SCHEMA.id else None


class Turns(TransactionBudget):
    """A budget that gives turns at once, or, when `held`, one by one when told to."""

    def __init__(self) -> None:
        super().__init__(per_second=0)
        self.asked, self.left = asyncio.Semaphore(0), asyncio.Semaphore(10**9)

    def hold(self) -> None:
        self.left = asyncio.Semaphore(0)

    async def turn(self) -> None:
        self.asked.release()
        await self.left.acquire()


async def never(*_: object) -> tuple[Batch, list[Advance]]:
    raise AssertionError("no view is being built here")


class LogEndsAsked:
    """The ends of the logs of rides, all the same; how often they were asked for."""

    def __init__(self) -> None:
        self.end, self.times = 0, 0

    async def __call__(self) -> dict[str, int]:
        self.times += 1
        return dict.fromkeys(TOPIC_NAMES, self.end)


def yellow(base: int, count: int = 1) -> Batch:
    return batch_of(YELLOW, [VALUE] * count, base=base)
