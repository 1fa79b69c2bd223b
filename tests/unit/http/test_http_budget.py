"""A request has a budget of rows, counted before any is copied, and of time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from app.base.setting_groups import HttpSettings
from app.engine.core.rows.state import ViewState
from app.engine.drive.ownership.directory import Directory
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import Serve, server_of, url_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"
LIMITS = HttpSettings(max_rows=10)
PLACES = [(pane, zone) for pane in range(4) for zone in range(1, 4)]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, limits=LIMITS) as start:
        yield start


def two_tasks() -> Directory:
    """Twelve rows together, on one worker."""
    tables = [zone_table(*PLACES[:6]), zone_table(*PLACES[6:])]
    return ready_directory([task_of(p, {ZONE_DEMAND: table, VENDOR_TRIPS: {}}) for p, table in enumerate(tables)])


async def test_a_query_that_folds_too_many_rows_is_told_how_many_and_how_to_ask_for_less(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await serve(two_tasks())
    monkeypatch.setattr(ViewState, "rows_at", None)  # nothing is copied for a query that is refused
    answer = await client.get(ROWS, params={"window": "1d"})
    problem: Any = await answer.json(content_type="application/problem+json")
    assert (answer.status, problem["type"], problem["retryable"]) == (422, "urn:flagfall:problem:too-much", False)
    assert (problem["rows"], problem["allowed_rows"]) == (12, 10)
    for words in ("FLAGFALL_HTTP_MAX_ROWS", "from and to", "zone=", "/v1/views/zone_demand/export"):
        assert words in problem["detail"]


@pytest.mark.parametrize(
    "asked",
    [{"window": "1d", "zone": "2"}, {"window": "5m", "limit": "1"}, {"window": "15m", "from": "2024-01-31T12:00:00Z"}],
)
async def test_a_query_that_asks_for_less_is_answered(serve: Serve, asked: dict[str, str]) -> None:
    client = await serve(two_tasks())
    if "from" in asked:
        asked = asked | {"to": "2024-01-31T12:15:00Z"}
    assert (await client.get(ROWS, params=asked)).status == 200


async def test_what_is_too_much_for_another_worker_is_told_as_such(serve: Serve) -> None:
    there = await serve(two_tasks())
    here = ready_directory([], partitions=2)
    here.owners = dict.fromkeys((0, 1), url_of(there))
    answer = await (await serve(here)).get(ROWS, params={"window": "1d", "partial": "allow"})
    problem = await answer.json(content_type="application/problem+json")
    assert (answer.status, problem["rows"]) == (422, 12)
    assert url_of(there) in problem["detail"]


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"detail": 1, "rows": 2, "allowed_rows": 3}'])
async def test_a_worker_that_refuses_without_words_is_missing(serve: Serve, body: str) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=422, text=body)

    owner = web.Application()
    owner.router.add_get("/{any:.*}", refuse)
    async with TestServer(owner) as server:
        directory = ready_directory([], partitions=1)
        directory.owners = {0: str(server.make_url("")).rstrip("/")}
        answer = await (await serve(directory)).get(ROWS)
        assert (answer.status, "no usable answer" in await answer.text()) == (503, True)


async def test_a_request_has_so_much_time_and_no_more(tmp_path: Path) -> None:
    never = asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        await never.wait()
        return web.Response()

    owner = web.Application()
    owner.router.add_get("/{any:.*}", hang)
    async with TestServer(owner) as server, server_of(tmp_path, limits=HttpSettings(max_seconds=0.01)) as start:
        directory = ready_directory([], partitions=1)
        directory.owners = {0: str(server.make_url("")).rstrip("/")}
        client = await start(directory)
        answer = await client.get(ROWS)
        problem = await answer.json(content_type="application/problem+json")
        text = await (await client.get("/metrics")).text()
        never.set()
    assert (answer.status, problem["type"], problem["retryable"]) == (503, "urn:flagfall:problem:too-slow", True)
    assert "FLAGFALL_HTTP_MAX_SECONDS" in problem["detail"]
    assert 'flagfall_http_requests_refused_total{gate="callers",reason="too-slow"} 1.0' in text
