"""Work of the event loop that nobody awaits: held until it ends, and told where it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

log = logging.getLogger(__name__)

_under_way: set[asyncio.Task[None] | Future[None]] = set()
"""A loop refers to its tasks weakly: one that nobody holds may be collected in the middle."""


def begin(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    """Start it on this loop. What it raises is logged under the name; whoever must end for it, ends in `work`."""
    task = asyncio.create_task(work, name=name)
    _keep(task, name)
    return task


def begin_elsewhere(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop, name: str) -> None:
    """The same on a loop of another thread."""
    _keep(asyncio.run_coroutine_threadsafe(work, loop), name)


def _keep(one: asyncio.Task[None] | Future[None], name: str) -> None:
    def ended(over: asyncio.Task[None] | Future[None]) -> None:
        _under_way.discard(over)
        if not over.cancelled() and (error := over.exception()) is not None:
            log.error("%s failed", name, exc_info=error)

    _under_way.add(one)
    one.add_done_callback(ended)
