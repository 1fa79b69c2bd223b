"""Queries per second and their 99th percentile beside a bare handler's, and how long large ones hold the event loop.

python -m benchmarks.queries --report build/queries.json

A server of its own process answers out of hand-made tables, without a broker; one client asks it over loopback. `bare`
is aiohttp with a handler that returns an empty body. A beat on the server's loop tells how late it came at worst, while
a case was asked (`longest_hold_ms`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from aiohttp import ClientSession, web
from prometheus_client import CollectorRegistry

from app.base.files.verdicts import LastVerdicts
from app.base.setting_groups import HttpSettings
from app.domain.marker import InputPosition, Marker, ViewPosition
from app.domain.windows.instants import to_iso
from app.edge.http.application import create_app
from app.edge.http.context import ServedGroup
from app.engine.core.rows.state import Rows, ViewState
from app.engine.core.task_state import TaskState
from app.engine.drive.ownership.directory import Directory
from app.engine.drive.standing import GroupStanding
from app.engine.drive.watch.loop_watch import BEAT_SECONDS
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND

ZONES, TASKS, PANE_US, FIRST_US = 260, 4, 300_000_000, 1_704_067_200_000_000
AT_ONCE = 16
VIEW = f"/v1/views/{ZONE_DEMAND.name}"


def task_of(partition: int, rows: int, rng: np.random.Generator) -> TaskState:
    """A task whose panes hold every zone, in the order of time; the zones of a pane in any order."""
    state, panes = ViewState(ZONE_DEMAND), max(1, rows // ZONES)
    for first in range(0, panes, 200):
        some = np.arange(first, min(first + 200, panes))
        windows = np.repeat(some * PANE_US + FIRST_US, ZONES)
        zones = np.concatenate([rng.permutation(ZONES) + 1 for _ in some])
        state.append(Rows(windows, [zones], rng.integers(0, 1000, (len(windows), len(ZONE_DEMAND.cells)))))
    inputs = {t.name: InputPosition("id", 0, rows, FIRST_US + panes * PANE_US, rows) for t in ZONE_DEMAND.source.topics}
    views = {ZONE_DEMAND.name: ViewPosition(ZONE_DEMAND.number, ZONE_DEMAND.version)}
    marker = Marker("flagfall", ZONE_DEMAND.source.number, partition, 1, inputs, views)
    return TaskState(marker, {ZONE_DEMAND.name: state}, 1)


def cases(rows: int) -> dict[str, str]:
    """What is asked, by name; instants in the middle of the tables."""
    middle_us = FIRST_US + rows // TASKS // ZONES // 2 * PANE_US
    hour = {"from": to_iso(middle_us), "to": to_iso(middle_us + 12 * PANE_US)}
    pane = {"from": to_iso(middle_us), "to": to_iso(middle_us + PANE_US)}

    def told(**asked: str) -> str:
        return f"{VIEW}/rows?" + "&".join(f"{name}={value}" for name, value in asked.items())

    return {
        "bare": "/bare",
        "point": told(zone="132", window="1h", **hour),
        "zone_day": told(zone="132", window="1d", limit="1"),
        "one_window": told(limit="100", **pane),
        "newest": told(limit="8", order="desc"),
        "page_10000": told(limit="10000"),
        "fold_all": told(window="366d", limit="10000"),
        "export": f"{VIEW}/export?partition=0",
    }


def serve(rows: int, told: Connection) -> None:
    """Serve until killed; says its port, then the longest hold since it was last asked."""
    asyncio.run(_serve(rows, told))


async def _serve(rows: int, told: Connection) -> None:
    rng = np.random.default_rng(7)
    tasks = {p: task_of(p, rows // TASKS, rng) for p in range(TASKS)}
    directory = Directory("http://here", TASKS, GroupStanding.READY, tasks, dict.fromkeys(tasks, "http://here"))
    held = [0.0]

    async def bare(_: web.Request) -> web.Response:
        return web.Response()

    async def longest_hold(_: web.Request) -> web.Response:
        held[0], longest = 0.0, held[0]
        return web.json_response(longest)

    with tempfile.TemporaryDirectory() as folder:
        served = [ServedGroup("rides", directory, (ZONE_DEMAND,), (RIDES,))]
        verdicts = LastVerdicts(Path(folder), "flagfall")
        app = create_app(served, verdicts, registry=CollectorRegistry(), limits=HttpSettings(max_rows=10**9))
        outer = web.Application()
        outer.router.add_get("/bare", bare)
        outer.router.add_get("/hold", longest_hold)
        outer.add_subapp("/app", app)
        runner = web.AppRunner(outer, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        told.send(runner.addresses[0][1])
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(BEAT_SECONDS)
            held[0] = max(held[0], time.perf_counter() - begun - BEAT_SECONDS)


async def asked(session: ClientSession, address: str) -> float:
    """Seconds that one answer took."""
    begun = time.perf_counter()
    async with session.get(address) as answer:
        await answer.read()
        if answer.status != 200:
            raise SystemExit(f"{address}: {answer.status} {(await answer.text())[:500]}")
    return time.perf_counter() - begun


async def repeated(ask: Callable[[], Awaitable[float]], at_once: int, seconds: float) -> list[float]:
    """How long each answer took, so many asked at once for so long."""
    until, took = time.perf_counter() + seconds, list[float]()

    async def caller() -> None:
        while time.perf_counter() < until:
            took.append(await ask())

    await asyncio.gather(*(caller() for _ in range(at_once)))
    return took


def figures(took: list[float], seconds: float) -> dict[str, float]:
    """Answers per second, and percentiles in milliseconds."""
    p50, p99 = np.percentile(took, [50, 99]) * 1e3
    return {"per_second": round(len(took) / seconds, 1), "p50_ms": round(p50, 2), "p99_ms": round(p99, 2)}


async def measured(port: int, rows: int, seconds: float) -> dict[str, Any]:
    """Every case by itself, then point queries beside a caller of large ones."""
    report: dict[str, Any] = {}
    origin, addresses = f"http://127.0.0.1:{port}", cases(rows)

    def address(name: str) -> str:
        return origin + ("" if name == "bare" else "/app") + addresses[name]

    async with ClientSession() as session:

        async def longest_hold_ms() -> float:
            async with session.get(f"{origin}/hold") as answer:
                return round(1e3 * float(await answer.json()), 1)

        for name in addresses:
            for at_once in (1, AT_ONCE) if name in ("bare", "point", "one_window", "newest") else (1,):
                await asked(session, address(name))
                await longest_hold_ms()
                took = await repeated(lambda name=name: asked(session, address(name)), at_once, seconds)  # type: ignore[misc]
                report[f"{name} x{at_once}"] = figures(took, seconds) | {"longest_hold_ms": await longest_hold_ms()}
        for large in ("fold_all", "export"):
            beside = asyncio.create_task(repeated(lambda name=large: asked(session, address(name)), 1, seconds))  # type: ignore[misc]
            took = await repeated(lambda: asked(session, address("point")), 1, seconds)
            await beside
            report[f"point beside {large}"] = figures(took, seconds) | {"longest_hold_ms": await longest_hold_ms()}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_400_000)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each case")
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(options.rows, theirs), daemon=True)
    server.start()
    report = asyncio.run(measured(ours.recv(), options.rows, options.seconds))
    server.kill()
    text = json.dumps({"rows": options.rows, "cases": report}, indent=2)
    print(text)
    if options.report is not None:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
