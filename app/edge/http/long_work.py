"""What takes long goes on beside the event loop: copies in steps, folds and documents in threads.

The loop is needed for heartbeats and batches; held for as long as a large query takes, it would be late for them. A
batch takes many turns of the loop, one for each answer of the broker, and each step of each query would be in each of
these: so of all steps one is taken at a time, and behind it the loop has as long for itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import ParamSpec, TypeVar

from app.codecs.arrays import Int64s
from app.engine.core.rows.state import Rows, ViewState

COPY_ROWS = 65_536
"""Copied at a time: about 8 ms."""
MANY_ROWS = 16_384
"""More are folded in a thread: these take 2 to 5 ms."""
MANY_DOCUMENTS = 500
"""More rows than these are written as JSON in a thread: these take about 5 ms."""
THREADS = 1
"""Of those that want to go on, each has its share of the interpreter, and the loop is one of them: with two threads
beside it, twice as late (`python -m benchmarks.http`, hostile callers)."""

P = ParamSpec("P")
T = TypeVar("T")


class LongWork:
    """The thread of one worker; and whose `turn` it is, as each large fold holds copies of its rows."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="long-work")
        self.turn = asyncio.Lock()
        self._step = asyncio.Lock()

    async def run(self, is_long: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the work gives; in the thread if it is long, so it may touch nothing that changes on the loop."""
        if not is_long:
            return work(*args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*args, **kwargs))

    async def in_steps(self, steps: Iterable[T]) -> AsyncIterator[T]:
        """What these give, which are taken on the loop, with time for others in between."""
        taken = iter(steps)
        while True:
            async with self._step:
                began = perf_counter()
                try:
                    given = next(taken)
                except StopIteration:
                    return
                await asyncio.sleep(perf_counter() - began)
            yield given

    async def copied(self, state: ViewState, slots: Int64s | None = None) -> Rows:
        """All rows, or those of some slots, as they are at the call: the snapshot is taken before the first await."""
        with state.snapshot(slots) as snapshot:
            async for _ in self.in_steps(snapshot.copy(COPY_ROWS)):
                pass
        return snapshot.rows()

    def close(self) -> None:
        """Begin nothing more; what runs is left to end."""
        self._threads.shutdown(wait=False, cancel_futures=True)
