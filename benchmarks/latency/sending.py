"""A sender beside a worker, and what the worker uses meanwhile."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import psutil

from benchmarks.one_worker import core_seconds, cpu_seconds
from benchmarks.stream.place import Cores

WARM_SECONDS = 5


def start_sender(rate: int, seconds: int) -> subprocess.Popen[bytes]:
    """A sender of so many rides a second, for so long and the warming up."""
    command = [sys.executable, "-m", "benchmarks.latency.send", str(rate), str(seconds + WARM_SECONDS)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def sent(
    sender: subprocess.Popen[bytes], cores: Cores, process: psutil.Process, seconds: int
) -> tuple[dict[str, Any], tuple[float, float]]:
    """Let it send to its end; what was used while rides came, and the time that counts, in Unix seconds."""
    with sender:
        assert sender.stdout is not None
        sender.stdout.readline()
        time.sleep(WARM_SECONDS)
        began, before = time.time(), _used(cores, process)
        time.sleep(seconds - 1)
        ended, after = time.time(), _used(cores, process)
    if sender.returncode:
        raise SystemExit(f"the sender ended with {sender.returncode}")
    time.sleep(1)  # the last rides are committed
    worker, workers_core, brokers_core = (
        (now - then) / (ended - began) for now, then in zip(after, before, strict=True)
    )
    told = {
        "cpu": round(worker, 3),
        "others_cpu": round(workers_core - worker, 3),
        "brokers_core": round(brokers_core, 3),
        "memory_mb": process.memory_info().rss >> 20,
    }
    return told, (began, ended)


def _used(cores: Cores, process: psutil.Process) -> tuple[float, float, float]:
    """Seconds of the worker, of its core and of the broker's."""
    return cpu_seconds(process), core_seconds(cores.system), core_seconds(cores.broker)
