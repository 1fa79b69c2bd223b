"""Questions, streams of changes and hostile callers beside a worker that takes in rides. Nothing is left running.

    python -m benchmarks.http --report build/bench-http.json
    python -m benchmarks.http --rate 50000 --seconds 10

Broker, registry, sender and callers are on the first core, the worker alone on the last. It has read 4,200,000 rides
before; then rides come at an even rate, without a load (`alone`) and beside each load. `lag` is how late rides were
readable, from Kafka's timestamp on. What two workers answer is measured behind that, without a stream: both are on the
one core. The figures at the top:

- `point_ratio`: rows of one key, answered in a second of the worker's processor, as a share of what a handler of the
  same process gives of the same bytes. What the stream takes meanwhile is not in it.
- `point_p99_ms`: of one caller who asks for such rows.
- `sse_p99_ms`: from Kafka's timestamp of a ride to the event with it at one of 200 clients.
- `lag_ratio`, `hostile_lag_ratio`: the worst p99 of `lag` beside a load, and beside a hostile one, to that without.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from aiohttp import ClientSession, ClientTimeout, TCPConnector

from app.base.settings import Settings
from app.edge.http.listening import may_open_files
from app.edge.local.ask import Worker
from app.edge.local.lifetime import unwind_on_term
from app.edge.local.workers import stop_workers
from benchmarks.bounds import await_rides, speed
from benchmarks.http import hostile
from benchmarks.http.asking import (
    BARE_PORT,
    FORMATS,
    AskedRow,
    Load,
    asked,
    asking,
    known_rows,
    nearest,
    pages,
    proving,
    scanning,
)
from benchmarks.http.figures import Cases, headline
from benchmarks.http.followers import Told, as_commits, following
from benchmarks.http.stream import Stream, fill_backlog, percentiles
from benchmarks.one_worker import place, worker
from benchmarks.stream.place import Cores, any_port
from benchmarks.take_over.pair import Pair, settled

FOLDER = Path("build/bench-http")
TASKS, AT_ONCE, CLIENTS, POINTS = 4, 16, 200, 50
SCANNED, SCANNED_ROWS = "zone_demand", 100_000
EVIDENCE_COUNTS = (10, 1_000, 100_000)
"""Rows with about so many records; the largest one has some tens of thousands."""


def main(rate: int, seconds: int, report: Path) -> None:
    """Run all phases on one cluster, print the figures and write them to `report`."""
    unwind_on_term()
    may_open_files()
    os.environ[BARE_PORT] = str(any_port())
    with place(FOLDER, TASKS) as (settings, cores, owner_fd):
        rides = fill_backlog(settings)
        with worker(settings, cores, owner_fd, "benchmarks.http.worker_app") as (served, process):
            await_rides(settings, rides)
            caught_up, stream = speed(settings), Stream(settings, cores, process, rate)
            cases, points = asyncio.run(beside_the_stream(stream, served, seconds))
        cases |= asyncio.run(of_two_workers(settings, cores, owner_fd, points, seconds))
    told = headline(cases) | {"rides_per_second": rate, "caught_up": caught_up, "cases": cases}
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(told, indent=2))
    print(json.dumps(headline(cases)))


async def beside_the_stream(stream: Stream, served: Worker, seconds: int) -> tuple[Cases, list[str]]:
    """Each load by itself, and the addresses of rows by key."""
    cases: Cases = {}
    async with session_of(served.url) as session, session_of(f"http://127.0.0.1:{os.environ[BARE_PORT]}") as bare:
        await stream.beside(nothing, seconds)  # closes what the backlog left open
        settled(served)
        rows = await known_rows(session, SCANNED)
        points = [row.address for row in rows[:: max(1, len(rows) // POINTS)]]
        _, body = await asked(session, points[0])
        await (await bare.put("/bare", data=body)).read()
        for name, load in loads(session, bare, points, rows, await pages(session, SCANNED, SCANNED_ROWS)).items():
            cases[name], _ = await stream.beside(load, seconds)
            tell(cases, name)
        cases["followers"] = await followed(stream, session, seconds)
        tell(cases, "followers")
        for name, load in hostile_loads(session, urlsplit(served.url).port or 0).items():
            cases[name], _ = await stream.beside(load, seconds)
            tell(cases, name)
    return cases, points


def loads(
    session: ClientSession, bare: ClientSession, points: list[str], rows: list[AskedRow], scanned: list[str]
) -> dict[str, Load]:
    """What callers mean well with, by name."""
    behind = [nearest(rows, count) for count in EVIDENCE_COUNTS]
    return {
        "alone": nothing,
        "bare x16": asking(bare, ["/bare"], AT_ONCE),
        "point x1": asking(session, points, 1),
        "point x16": asking(session, points, AT_ONCE),
        **{f"scan {which}": scanning(session, scanned, which) for which in FORMATS},
        **{f"evidence {row.records}": proving(session, row) for row in behind},
    }


def hostile_loads(session: ClientSession, port: int) -> dict[str, Load]:
    """What callers mean ill with, by name."""
    return {
        "hostile idle": hostile.idle(port),
        "hostile slow": hostile.slow(port),
        "hostile deaf": hostile.deaf(port),
        "hostile greedy": hostile.greedy(session),
        "hostile nonsense": hostile.nonsense(port, session),
    }


async def followed(stream: Stream, session: ClientSession, seconds: int) -> dict[str, Any]:
    """What came to clients that follow changes, and how late."""
    noted, events = list[list[Told]](), 0

    async def load(seconds: float) -> dict[str, Any]:
        nonlocal noted, events
        noted, events = await following(session, CLIENTS, seconds)
        return {"clients": CLIENTS, "events": events}

    told, window = await stream.beside(load, seconds)
    delays = [stream.delays(as_commits(one), window) for one in noted]
    return told | {"delay": percentiles(np.concatenate(delays))}


async def of_two_workers(settings: Settings, cores: Cores, owner_fd: int, points: list[str], seconds: int) -> Cases:
    """The same rows asked for where half of the tasks are another worker's."""
    try:
        one, _ = Pair(settings, cores, owner_fd).complete()
        settled(one)
        async with session_of(one.url) as session:
            cases = {f"hop x{n}": await asking(session, points, n)(seconds) for n in (1, AT_ONCE)}
    finally:
        stop_workers(settings)
    for name in cases:
        tell(cases, name)
    return cases


def session_of(url: str) -> ClientSession:
    """As many connections as are asked for."""
    return ClientSession(url, connector=TCPConnector(limit=0), timeout=ClientTimeout(total=60))


async def nothing(seconds: float) -> dict[str, Any]:
    """No load."""
    await asyncio.sleep(seconds)
    return {}


def tell(cases: Cases, name: str) -> None:
    """A line for who waits."""
    print(json.dumps({name: cases[name]}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=20_000, help="rides a second that the worker takes in meanwhile")
    parser.add_argument("--seconds", type=int, default=10, help="for each load")
    parser.add_argument("--report", type=Path, default=FOLDER.with_suffix(".json"))
    arguments = parser.parse_args()
    main(arguments.rate, arguments.seconds, arguments.report)
