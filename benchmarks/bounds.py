"""What a worker needs while it catches up: memory, its event loop, its answers. Nothing is left running.

    python -m benchmarks.bounds --report build/bench-bounds.json
    python -m benchmarks.bounds --cases small large

Each case is a backlog on a cluster of its own, written before the worker starts: so many rides, by so many a day (the
more a day, the fewer rows they make), on all tasks or on one. Meanwhile the worker is asked for rows all the time. In
the case `slow` the broker is stopped for half of every second. Memory is that of the worker's process, as the kernel
counts it; speed runs from the first commit to the last.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from app.base.kafka.producer import Producer
from app.base.services import processes
from app.base.settings import Settings
from app.codecs.avro.encode import encode_frame
from app.definitions.registered import register_schemas
from app.edge.local.lifetime import unwind_on_term
from app.rides.frames import message_keys
from app.rides.generator.demand import MAX_NUMBER
from app.rides.generator.generator import DEFAULT_START, Generator
from app.rides.ride import RIDES, SERVICES, avro_schema
from benchmarks.latency.committed import read_commits
from benchmarks.one_worker import commits_of, longest_hold_ms, place, worker

FOLDER = Path("build/bench-bounds")
SEED, TASKS, BLOCK_RIDES = 7, 4, 20_000
BUSY_A_DAY = MAX_NUMBER
"""As many as the generator makes: a backlog of minutes, with few rows, so that memory is not that of the rows."""
CITY_A_DAY = 700_000
"""As in New York: about one row for ten rides."""
CATCH_UP_SECONDS = 600.0
LOOK_SECONDS, ASK_SECONDS, STOPPED_SECONDS = 0.1, 0.1, 0.5
ROWS = "/v1/views/zone_demand/rows?limit=100&order=desc"


@dataclass(frozen=True)
class Case:
    """A backlog, reported from `start` on. `partition` -1: on all tasks. `stopping`: the broker is stopped again and
    again."""

    rides: int
    a_day: int = BUSY_A_DAY
    partition: int = -1
    stopping: bool = False
    start: datetime = DEFAULT_START


CASES = {
    "small": Case(100_000),
    "large": Case(3_000_000),
    "huge": Case(10_000_000),
    "hot": Case(1_000_000, partition=0),
    "slow": Case(1_000_000, stopping=True),
    "city": Case(1_000_000, a_day=CITY_A_DAY),
    "city_hot": Case(500_000, a_day=CITY_A_DAY, partition=0),
}


def main(cases: list[str], report: Path) -> None:
    """Run the cases one after the other, print the figures and write them to `report`."""
    unwind_on_term()
    figures = {}
    for case in cases:
        figures[case] = caught_up(CASES[case])
        print(json.dumps({case: figures[case]}), flush=True)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(figures, indent=2))


def caught_up(case: Case) -> dict[str, Any]:
    """One case on a cluster of its own."""
    with place(FOLDER, TASKS) as here:
        settings, *_ = here
        fill(settings, case)
        with worker(*here) as (served, process), contextlib.ExitStack() as around:
            if case.stopping:
                around.enter_context(stopping(processes.find(settings.data_dir / "kafka.pid.json")))
            asked = around.enter_context(asking(served.url))
            await_rides(settings, case.rides)
            told = speed(settings) | memory_mb(process)
            return told | {"longest_loop_hold_ms": longest_hold_ms(served.url), "answers_ms": answers_ms(asked)}


def fill(settings: Settings, case: Case) -> None:
    """Write the backlog."""
    ids, producer = register_schemas(settings, (RIDES,)), Producer(settings.kafka)
    generator = Generator(SEED, case.start, case.a_day)
    for first in range(0, case.rides, BLOCK_RIDES):
        frame = generator.rides(first, min(BLOCK_RIDES, case.rides - first))
        for (service,), part in frame.partition_by("service", as_dict=True).items():
            topic = SERVICES[str(service)]
            values = encode_frame(part, avro_schema(), ids[topic])
            producer.send(topic, values, message_keys(part), part["clock_ms"].to_list(), case.partition)
    producer.finish()


def await_rides(settings: Settings, rides: int) -> None:
    """Until so many are committed."""
    deadline = time.monotonic() + CATCH_UP_SECONDS
    while _committed(settings) < rides:
        if time.monotonic() > deadline:
            raise SystemExit(f"the worker has committed {_committed(settings):,} of {rides:,} rides")
        time.sleep(LOOK_SECONDS)


def _committed(settings: Settings) -> int:
    last = {commit.partition: commit.next_offsets for commit in read_commits(commits_of(settings))}
    return sum(offsets[topic] for offsets in last.values() for topic in SERVICES.values())


def speed(settings: Settings) -> dict[str, float]:
    """From the first commit to the last that moved the position of a ride topic."""
    seen: dict[int, int] = {}
    moved = []
    for commit in read_commits(commits_of(settings)):
        rides = sum(commit.next_offsets[topic] for topic in SERVICES.values())
        if rides > seen.get(commit.partition, 0):
            seen[commit.partition] = rides
            moved.append((commit, sum(seen.values())))
    (first, before), (last, after) = moved[0], moved[-1]
    seconds = last.at_seconds - first.at_seconds
    return {
        "rides": after,
        "transactions": len(moved),
        "rides_per_second": round((after - before) / seconds),
        "cores": round((last.cpu_seconds - first.cpu_seconds) / seconds, 2),
    }


def memory_mb(process: psutil.Process) -> dict[str, int]:
    """The most that was resident since the worker's start, and what is now."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    peak_kb = int(status.split("VmHWM:")[1].split()[0])
    return {"peak_rss_mb": peak_kb >> 10, "rss_mb": process.memory_info().rss >> 20}


@contextlib.contextmanager
def asking(url: str) -> Iterator[list[float]]:
    """Asks for rows again and again until the block ends; gives the seconds that each answer took."""
    ended, took = threading.Event(), list[float]()

    def ask() -> None:
        with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            while not ended.wait(ASK_SECONDS):
                began = time.monotonic()
                client.get(ROWS).raise_for_status()
                took.append(time.monotonic() - began)

    with _until_the_end(ask, ended):
        yield took


@contextlib.contextmanager
def stopping(broker: psutil.Process | None) -> Iterator[None]:
    """The broker's process stands still for half of the time."""
    assert broker is not None
    ended = threading.Event()

    def stop() -> None:
        while not ended.wait(STOPPED_SECONDS):
            broker.send_signal(signal.SIGSTOP)
            try:
                ended.wait(STOPPED_SECONDS)
            finally:
                broker.send_signal(signal.SIGCONT)

    with _until_the_end(stop, ended):
        yield


@contextlib.contextmanager
def _until_the_end(work: Any, ended: threading.Event) -> Iterator[None]:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failed:
        raise failed[0]


def answers_ms(took: list[float]) -> dict[str, float]:
    """How many answers came, and how soon."""
    p50, p99, longest = np.percentile(took, (50, 99, 100)) * 1000
    return {"count": len(took), "p50": round(p50, 1), "p99": round(p99, 1), "longest": round(longest, 1)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--report", type=Path, default=FOLDER.with_suffix(".json"))
    arguments = parser.parse_args()
    main(arguments.cases, arguments.report)
