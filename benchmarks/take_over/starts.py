"""How long a worker takes from its start until it is ready, where there is nothing to take over."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil

from app.base.services import processes
from app.base.settings import Settings
from app.edge.local.workers import start_workers, stop_workers
from benchmarks.one_worker import cpu_seconds
from benchmarks.stream.place import Cores
from benchmarks.take_over.answers import answered, awaited, client_of


def started(settings: Settings, cores: Cores, owner_fd: int) -> dict[str, float]:
    """One worker alone on its core, with four empty tasks: seconds to ready, by the clock and of the processor."""
    with cores.starting():
        (worker,) = start_workers(settings, owner_fd, count=1)
    try:
        process = processes.find(worker.pid_file)
        assert process is not None
        with client_of(worker) as client:
            awaited(lambda: answered(client, "/readyz"), f"the worker at {worker.url} is ready; {worker.log} says more")
        return {"seconds": round(age_seconds(process), 2), "cpu_seconds": round(cpu_seconds(process), 2)}
    finally:
        stop_workers(settings)


def age_seconds(process: psutil.Process) -> float:
    """Since its start, to a hundredth; psutil's own figure goes by the second in which the machine was started."""
    _, _, told = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")
    began_ticks = int(told.split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began_ticks / os.sysconf("SC_CLK_TCK")
