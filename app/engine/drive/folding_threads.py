"""Where batches are folded: in threads beside the event loop, so that queries and heartbeats do not wait for them.

The kernels run without the interpreter's lock. A plan only reads its task's state, and nothing else changes it
meanwhile: whoever asks for a fold awaits it before anything is swapped in.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class FoldingThreads:
    """As many as this process may use cores, unless told; tasks that have to wait for one take turns."""

    def __init__(self, count: int | None = None) -> None:
        self._threads = ThreadPoolExecutor(count or len(os.sched_getaffinity(0)), thread_name_prefix="folding")

    async def run(self, fold: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the fold gives. Cancelled, it is awaited to its end all the same: it reads a state that goes on."""
        work = asyncio.get_running_loop().run_in_executor(self._threads, lambda: fold(*args, **kwargs))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            raise
