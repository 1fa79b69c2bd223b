"""The stream beside which a worker is asked, and what it was like meanwhile: how late rides were readable, and the
worker's share of its core."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import psutil

from app.base.settings import Settings
from app.domain.records import TopicPartition
from app.rides.generator.generator import DEFAULT_START
from benchmarks.bounds import BUSY_A_DAY, CITY_A_DAY, Case, fill
from benchmarks.http.asking import Load
from benchmarks.latency.committed import Commit, Doubles, latencies_ms, read_commits, ride_ends
from benchmarks.one_worker import commits_of, core_seconds, cpu_seconds
from benchmarks.stream.place import Cores

WARM_SECONDS = 3
DENSE = Case(3_000_000, a_day=BUSY_A_DAY)
"""Rows of tens of thousands of records."""
CITY = Case(1_200_000, a_day=CITY_A_DAY, start=DEFAULT_START + timedelta(minutes=1))
"""A hundred thousand rows."""
BEHIND_BOTH = DEFAULT_START + timedelta(days=3)


@dataclass(frozen=True)
class Window:
    """Of the rides that count: when they were sent, in Unix seconds, and where the logs ended before."""

    began_at: float
    ended_at: float
    since: Mapping[TopicPartition, int]


@dataclass
class Stream:
    """Rides at a rate, sent anew for each phase; each begins where the last one ended in event time."""

    settings: Settings
    cores: Cores
    process: psutil.Process
    rate: int
    start: datetime = field(default=BEHIND_BOTH)

    async def beside(self, load: Load, seconds: float) -> tuple[dict[str, Any], Window]:
        """What a load had to tell that ran beside the stream, and what the stream was like."""
        since = ride_ends(self.settings)
        sender = await self._sender(seconds)
        await asyncio.sleep(WARM_SECONDS)
        began_at, before = time.time(), self._used()
        loaded = asyncio.create_task(load(seconds))
        await asyncio.sleep(seconds)
        ended_at, after = time.time(), self._used()
        told = await loaded
        if status := await sender.wait():
            raise SystemExit(f"the sender ended with {status}")
        await asyncio.sleep(1)  # the last rides are committed
        window = Window(began_at, ended_at, since)
        cores = [round((now - then) / (ended_at - began_at), 3) for now, then in zip(after, before, strict=True)]
        used = dict(zip(("worker_cores", "workers_core", "brokers_core"), cores, strict=True))
        return told | used | {"lag": percentiles(self._delays(window))}, window

    async def _sender(self, seconds: float) -> asyncio.subprocess.Process:
        lasts = int(seconds) + WARM_SECONDS + 1
        command = (sys.executable, "-m", "benchmarks.latency.send", str(self.rate), str(lasts), self.start.isoformat())
        sender = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        self.start += timedelta(minutes=1)
        assert sender.stdout is not None
        await sender.stdout.readline()
        return sender

    def _delays(self, window: Window) -> Doubles:
        return self.delays(read_commits(commits_of(self.settings)), window)

    def delays(self, commits: list[Commit], window: Window) -> Doubles:
        """Of each ride that counts, in milliseconds, until one of these said that it is in the rows."""
        return latencies_ms(self.settings, commits, window.began_at, window.ended_at, window.since)

    def _used(self) -> tuple[float, float, float]:
        return cpu_seconds(self.process), core_seconds(self.cores.system), core_seconds(self.cores.broker)


def fill_backlog(settings: Settings) -> int:
    """Write both backlogs; how many rides they are."""
    for case in (DENSE, CITY):
        fill(settings, case)
    return DENSE.rides + CITY.rides


def percentiles(delays_ms: Doubles) -> dict[str, float]:
    """In milliseconds."""
    p50, p99, longest = np.percentile(delays_ms, (50, 99, 100))
    return {"p50_ms": round(p50, 1), "p99_ms": round(p99, 1), "longest_ms": round(longest, 1)}
