"""A worker that stops getting on when it is told to: `faust -A tests.support.apps.stalling`.

FLAGFALL_TEST_STALL_FILE names a file; while it exists, what its text says is broken:
fetch (every fetch gives nothing), loop (the event loop is held), write (a transaction is never completed).
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from app.base.settings import Settings
from app.edge.worker import create_catalogue_worker
from app.engine.drive.faust_parts import driver
from app.engine.drive.transactions.writer import TaskWriter

STALL_FILE = Path(os.environ["FLAGFALL_TEST_STALL_FILE"])
LOOK_SECONDS = 0.05

drain, write = driver.drain, TaskWriter.write


def _broken() -> str:
    return STALL_FILE.read_text() if STALL_FILE.exists() else ""


async def _drain(fetcher: Any, partitions: Any, timeout: float) -> Any:
    if _broken() == "fetch":
        await asyncio.sleep(timeout)
        return {}
    return await drain(fetcher, partitions, timeout)


async def _write(self: TaskWriter, transaction: Any) -> int:
    while _broken() == "loop":
        time.sleep(LOOK_SECONDS)
    while _broken() == "write":
        await asyncio.sleep(LOOK_SECONDS)
    return await write(self, transaction)


driver.drain = _drain
TaskWriter.write = _write  # type: ignore[method-assign]

app = create_catalogue_worker(Settings.load())
