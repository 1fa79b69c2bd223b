"""What takes long goes on beside the event loop: copies in slices, folds and documents in threads.

The loop is needed for heartbeats and batches; held for as long as a large query takes, it would be late for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from app.codecs.arrays import Int64s
from app.engine.core.rows.state import Rows, ViewState

COPY_ROWS = 65_536
"""Copied at a time: about 8 ms."""
MANY_ROWS = 16_384
"""More are folded in a thread: these take 2 to 5 ms."""
MANY_DOCUMENTS = 500
"""More rows than these are written as JSON in a thread: these take about 5 ms."""
THREADS = 2
"""One for the fold whose turn it is, one for documents meanwhile."""

P = ParamSpec("P")
T = TypeVar("T")


class LongWork:
    """The threads of one worker; and whose `turn` it is, as each large fold holds copies of its rows."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="long-work")
        self.turn = asyncio.Lock()

    async def run(self, is_long: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the work gives; in a thread if it is long, so it may touch nothing that changes on the loop."""
        if not is_long:
            return work(*args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*args, **kwargs))

    def close(self) -> None:
        """Begin nothing more; what runs is left to end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


async def copied(state: ViewState, slots: Int64s | None = None) -> Rows:
    """All rows, or those of some slots, as they are at the call: the snapshot is taken before the first await."""
    with state.snapshot(slots) as snapshot:
        for _ in snapshot.copy(COPY_ROWS):
            await asyncio.sleep(0)
    return snapshot.rows()
