"""One recovery in this process, on one core: how long, how much processor and memory, and what the loop saw of it."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import time
from typing import Any

import psutil

from app.base.settings import Settings
from app.engine.drive.ownership.state_reader import Progress, StateReader
from benchmarks.recovery.changelogs import VIEW, Case, connections_of, is_what_was_written

TICK_SECONDS = 0.001


async def recover(settings: Settings, case: Case) -> dict[str, Any]:
    """Read all states of the case and compare their rows with those that were written."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    process = psutil.Process()
    reader = StateReader(case.definition, connections_of(settings), settings.topics.partitions)
    await reader.read([], {})
    gc.collect()
    before, cpu_before = process.memory_info().rss, sum(process.cpu_times()[:2])
    holds: list[float] = []
    watch = asyncio.create_task(_watch(holds))
    began, ready, steps = time.monotonic(), list[float](), list[Progress]()
    states = await reader.read(
        range(case.tasks), {}, ready=lambda *_: ready.append(time.monotonic() - began), progress=steps.append
    )
    seconds = time.monotonic() - began
    watch.cancel()
    used = sum(process.cpu_times()[:2]) - cpu_before
    rss = process.memory_info().rss - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    views = {task: state.views[VIEW.name] for task, state in states.items()}
    arrays = sum(view.nbytes for view in views.values())
    for task, view in views.items():
        if not is_what_was_written(view.select(), case.rows // case.tasks):
            raise SystemExit(f"{case.name}: the {len(view)} rows of task {task} are not those that were written")
    return {
        "seconds": round(seconds, 3),
        "cpu_seconds": round(used, 3),
        "records": reader.records_read,
        "rows_per_second": round(case.rows / seconds),
        "first_task_ready_seconds": round(min(ready), 3),
        "steps_told": len(steps),
        "longest_hold_cpu_ms": round(max(holds) * 1000, 1),
        "array_bytes_per_row": round(arrays / case.rows, 1),
        "rss_bytes_per_row": round(rss / case.rows, 1),
        "peak_rss_bytes_per_row": round(peak / case.rows, 1),
    }


async def _watch(holds: list[float]) -> None:
    """Processor time of the loop's thread between two of its turns: on a busy machine too, what one step costs."""
    while True:
        before = time.thread_time()
        await asyncio.sleep(TICK_SECONDS)
        holds.append(time.thread_time() - before)
