"""A worker answers so many requests at once; some wait in line, the others are told to come back."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from prometheus_client.parser import text_string_to_metric_families

from app.base.setting_groups import HttpSettings
from app.edge.http.context import Edge
from app.edge.http.entry.admission import ADMISSION, Admission, Gate, admitted
from app.edge.http.entry.callers import CALLER, Caller
from app.edge.http.evidence.asked_row import evidence_address
from app.edge.http.problems import Problem
from app.edge.http.routes.every_route import ROUTES
from app.rides.views import ZONE_DEMAND
from tests.support.http import server_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"
PATIENCE_SECONDS = 60.0


class Asked(dict[Any, Any]):
    """A request for tasks, as far as a gate looks at it."""

    app: Any
    match_info = SimpleNamespace(route=SimpleNamespace(name="tasks"))


async def turns() -> None:
    """Let all that can go on go on."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_does_not_fit_in_waits_in_line_and_comes_in_by_turns() -> None:
    gate, came, leave = Gate(1, 2, PATIENCE_SECONDS, PATIENCE_SECONDS), list[int](), asyncio.Event()

    async def visit(number: int) -> None:
        async with gate.entered("one"):
            came.append(number)
            await leave.wait()

    visits = [asyncio.create_task(visit(number)) for number in range(3)]
    await turns()
    assert (came, gate.inside, gate.waiting) == ([0], 1, 2)
    leave.set()
    await asyncio.gather(*visits)
    assert (came, gate.inside, gate.waiting) == ([0, 1, 2], 0, 0)


async def test_who_finds_the_line_full_is_told_to_come_back() -> None:
    gate = Gate(1, 0, PATIENCE_SECONDS, PATIENCE_SECONDS)
    async with gate.entered("one"):
        with pytest.raises(Problem, match="FLAGFALL_HTTP_MAX_REQUESTS") as caught:
            await gate.entered("one").__aenter__()
    assert (caught.value.slug, caught.value.extensions["reason"]) == ("busy", "queue-full")
    assert gate.refused == {"queue-full": 1}
    async with gate.entered("one"):
        assert gate.inside == 1


async def test_who_waited_too_long_is_told_to_come_back_and_holds_no_place() -> None:
    gate = Gate(1, 1, 0.001, PATIENCE_SECONDS)
    async with gate.entered("one"):
        with pytest.raises(Problem) as caught:
            await gate.entered("one").__aenter__()
    assert caught.value.extensions["reason"] == "waited-too-long"
    assert (gate.inside, gate.waiting) == (0, 0)
    async with gate.entered("one"):
        assert gate.inside == 1


async def test_who_leaves_the_line_holds_no_place() -> None:
    gate = Gate(1, 1, PATIENCE_SECONDS, PATIENCE_SECONDS)
    async with AsyncExitStack() as inside:
        await inside.enter_async_context(gate.entered("one"))
        waiting = asyncio.create_task(gate.entered("one").__aenter__())
        await turns()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert gate.waiting == 0
    async with gate.entered("one"):
        assert gate.inside == 1


async def test_a_worker_full_of_queries_refuses_more_and_still_answers_workers_and_about_itself(tmp_path: Path) -> None:
    asked, answer_now = asyncio.Event(), asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        asked.set()
        await answer_now.wait()
        return web.Response(status=500)

    owner = web.Application()
    owner.router.add_get("/{any:.*}", hang)
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 1))})], partitions=2)
    limits = HttpSettings(max_requests=1, max_waiting_requests=0)
    async with TestServer(owner) as server, server_of(tmp_path, limits=limits) as start:
        directory.owners[1] = str(server.make_url("")).rstrip("/")
        client = await start(directory)
        first = asyncio.create_task(client.get(ROWS, params={"partial": "allow"}))
        await asked.wait()
        refused = await client.get(ROWS)
        problem = await refused.json(content_type="application/problem+json")
        assert (refused.status, problem["type"]) == (503, "urn:flagfall:problem:busy")
        assert int(refused.headers["Retry-After"]) > 0
        for address in ("/livez", "/readyz", "/v1/views", "/openapi.json"):
            assert (await client.get(address)).status == 200, address
        assert (await client.get("/v1/internal/views/zone_demand/parts?partition=0")).status == 200
        text = await (await client.get("/metrics")).text()
        answer_now.set()
        assert (await first).status == 200
    values = {
        (s.name, *sorted(s.labels.values())): s.value for f in text_string_to_metric_families(text) for s in f.samples
    }
    assert values["flagfall_http_requests_in_flight", "callers"] == 1
    assert values["flagfall_http_requests_in_flight", "workers"] == 0
    assert values["flagfall_http_requests_refused_total", "callers", "queue-full"] == 1


async def test_searches_for_records_follow_one_another_and_take_no_place_of_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end_now = asyncio.Event(), asyncio.Event()

    async def rulings(*_: object) -> None:
        begun.set()
        await end_now.wait()
        raise Problem("unknown-row", "it is gone")

    monkeypatch.setattr(Edge, "searcher", lambda *_: SimpleNamespace(rulings=rulings))
    limits = HttpSettings(max_requests=1, max_waiting_requests=0)
    async with server_of(tmp_path, limits=limits) as start:
        client = await start(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 1))})]))
        (row,) = (await (await client.get(ROWS)).json())["data"]
        address = evidence_address(ZONE_DEMAND, row)
        first = asyncio.create_task(client.get(address))
        await begun.wait()
        second = await client.get(address)
        assert (second.status, (await second.json())["type"]) == (503, "urn:flagfall:problem:busy")
        assert (await client.get(ROWS)).status == 200
        end_now.set()
        assert (await first).status == 404


async def test_of_a_crowd_that_comes_in_one_turn_of_the_loop_one_is_answered_in_a_turn() -> None:
    turn, answered_in = 0, Counter[int]()
    limits = HttpSettings(
        max_requests=10, max_waiting_requests=100, max_wait_seconds=PATIENCE_SECONDS, max_seconds=PATIENCE_SECONDS
    )
    request: Any = Asked({CALLER: Caller("one")})
    request.app = {ADMISSION: Admission(limits, [route for route in ROUTES if route.name == "tasks"])}

    async def handler(_: web.Request) -> web.Response:
        answered_in[turn] += 1
        return web.Response()

    crowd = [asyncio.create_task(admitted(request, handler)) for _ in range(40)]
    while not all(one.done() for one in crowd):
        await asyncio.sleep(0)
        turn += 1
    assert answered_in.total() == 40
    assert set(answered_in.values()) == {1}
