"""Rows over HTTP: merged over tasks, folded, filtered, paged; every answer names its position."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from app.domain.marker import BuildPosition
from app.domain.rows import RowKey
from app.edge.http.query.instants import to_iso
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, Serve, server_of, url_of, zone_table
from tests.support.material.stored.tables import cells_of, in_order, merge_tables, ready_directory, task_of


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path) as start:
        yield start


async def test_rows_are_merged_over_all_tasks(serve: Serve) -> None:
    tables = [zone_table((0, 132), (1, 7)), zone_table((0, 132), (0, None), seed=50)]
    client = await serve(ready_directory([task_of(p, {ZONE_DEMAND: t}) for p, t in enumerate(tables)]))
    answer = await (await client.get("/v1/views/zone_demand/rows")).json()
    merged = merge_tables(ZONE_DEMAND, tables, PANE_US)
    expected = [
        (to_iso(k.window_start_us or 0), k.group[0], ZONE_DEMAND.present(merged[k])) for k in in_order(list(merged))
    ]
    assert [(r["window"]["start"], r["group"]["zone"], r["measures"]) for r in answer["data"]] == expected
    assert answer["data"][0]["group"] == {"zone": None, "zone_name": None, "zone_borough": None}
    assert answer["data"][1]["group"]["zone_name"] == "JFK Airport"
    assert answer["meta"]["position"]["rides.yellow-1"] == 100
    assert (answer["meta"]["partial"], answer["meta"]["next_cursor"]) == (False, None)


async def test_a_worker_gathers_from_the_owners_of_the_other_partitions(serve: Serve) -> None:
    tables = [zone_table((0, 1)), zone_table((0, 1), (2, 3), seed=9)]
    there = await serve(ready_directory([task_of(1, {ZONE_DEMAND: tables[1]})], partitions=2))
    directory = ready_directory([task_of(0, {ZONE_DEMAND: tables[0]})], partitions=2)
    directory.owners = {0: directory.url, 1: url_of(there)}
    here = await serve(directory)
    answer = await (await here.get("/v1/views/zone_demand/rows")).json()
    merged = merge_tables(ZONE_DEMAND, tables, PANE_US)
    assert [r["count"] for r in answer["data"]] == [merged[k][0] for k in in_order(list(merged))]


@pytest.mark.parametrize("asked", [[("zone", str(n % 265 + 1)) for n in range(300)], [("base", "\u20ac" * 450)]])
async def test_what_a_caller_may_ask_a_worker_may_ask_another(serve: Serve, asked: list[tuple[str, str]]) -> None:
    tables = [task_of(p, {ZONE_DEMAND: zone_table((0, 1)), BY_BASE: {}}) for p in (0, 1)]
    there = await serve(ready_directory(tables[1:], partitions=2))
    directory = ready_directory(tables[:1], partitions=2)
    directory.owners = {0: directory.url, 1: url_of(there)}
    here = await serve(directory)
    view = ZONE_DEMAND if asked[0][0] == "zone" else BY_BASE
    answer = await here.get(f"/v1/views/{view.name}/rows", params=asked)
    assert answer.status == 200


async def test_a_partition_that_cannot_be_had_is_a_503_or_a_named_hole(serve: Serve, unused_tcp_port: int) -> None:
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 1))})], partitions=2)
    directory.owners = {0: directory.url, 1: f"http://127.0.0.1:{unused_tcp_port}"}
    client = await serve(directory)
    refused = await client.get("/v1/views/zone_demand/rows")
    problem = await refused.json(content_type="application/problem+json")
    assert (refused.status, problem["type"]) == (503, "urn:flagfall:problem:partitions-missing")
    assert int(refused.headers["Retry-After"]) > 0
    assert [m["partition"] for m in problem["missing"]] == [1]
    partial = await client.get("/v1/views/zone_demand/rows", params={"partial": "allow"})
    answer = await partial.json()
    assert (partial.status, len(answer["data"]), answer["meta"]["partial"]) == (200, 1, True)
    assert answer["meta"]["missing"][0]["partition"] == 1
    assert answer["meta"]["as_of"] is None


async def test_the_owner_is_asked_once_and_once_more(serve: Serve) -> None:
    asked: list[str] = []

    async def fail(request: web.Request) -> web.Response:
        asked.append(request.path_qs)
        return web.Response(status=500)

    app = web.Application()
    app.router.add_get("/{any:.*}", fail)
    server = TestServer(app)
    await server.start_server()
    directory = ready_directory([], partitions=1)
    directory.owners = {0: str(server.make_url("")).rstrip("/")}
    client = await serve(directory)
    assert (await client.get("/v1/views/zone_demand/rows")).status == 503
    assert len(asked) == 2
    await server.close()


async def test_what_another_worker_is_asked_for_is_never_forwarded(serve: Serve) -> None:
    directory = ready_directory([], partitions=1)
    directory.owners = {0: "http://127.0.0.1:1"}
    client = await serve(directory)
    answer = await client.get("/v1/internal/views/zone_demand/parts", params={"partition": "0"})
    assert (answer.status, await answer.json()) == (200, [])


async def test_an_owner_that_does_not_hold_the_partition_any_more_leaves_a_hole(serve: Serve) -> None:
    there = await serve(ready_directory([], partitions=2))
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 1))})], partitions=2)
    directory.owners = {0: directory.url, 1: url_of(there)}
    here = await serve(directory)
    answer = await here.get("/v1/views/zone_demand/rows")
    problem = await answer.json(content_type=None)
    assert answer.status == 503
    assert "does not hold" in problem["missing"][0]["why"]


async def test_a_slow_owner_is_given_up_after_two_deadlines(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.edge.http.owners.TIMEOUT_SECONDS", 0.05)
    never = asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        await never.wait()
        return web.Response()

    app = web.Application()
    app.router.add_get("/{any:.*}", hang)
    server = TestServer(app)
    await server.start_server()
    directory = ready_directory([], partitions=1)
    directory.owners = {0: str(server.make_url("")).rstrip("/")}
    client = await serve(directory)
    problem = await (await client.get("/v1/views/zone_demand/rows")).json(content_type=None)
    assert "did not answer within 0.05 s" in problem["detail"]
    never.set()
    await server.close()


async def test_panes_are_folded_to_whole_windows_and_are_not_final(serve: Serve) -> None:
    table = zone_table(*((pane, zone) for pane in range(-4, 8) for zone in (1, 2)))
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: table}, watermark_us=NOON_US + 10**12)]))
    asked = {"window": "15m", "from": to_iso(NOON_US - 1), "to": to_iso(NOON_US + 3 * PANE_US + 1)}
    answer = await (await client.get("/v1/views/zone_demand/rows", params=asked)).json()
    merged = merge_tables(ZONE_DEMAND, [table], 3 * PANE_US)
    within = [k for k in in_order(list(merged)) if NOON_US - 1 <= (k.window_start_us or 0) <= NOON_US + 3 * PANE_US]
    assert [r["measures"] for r in answer["data"]] == [ZONE_DEMAND.present(merged[k]) for k in within]
    assert {r["window"]["start"] for r in answer["data"]} == {to_iso(NOON_US), to_iso(NOON_US + 3 * PANE_US)}
    assert {(r["state"], r["final"]) for r in answer["data"]} == {("closed", False)}


async def test_a_row_is_closed_when_the_lowest_watermark_has_passed_its_end_and_grace(serve: Serve) -> None:
    table = zone_table((0, 1), (1, 1))
    first_closes_us = NOON_US + PANE_US + ZONE_DEMAND.grace_us
    tasks = [task_of(p, {ZONE_DEMAND: table}, watermark_us=first_closes_us + p) for p in range(2)]
    client = await serve(ready_directory(tasks))
    answer = await (await client.get("/v1/views/zone_demand/rows")).json()
    assert answer["meta"]["as_of"] == to_iso(first_closes_us)
    assert [(r["state"], r["final"]) for r in answer["data"]] == [("closed", True), ("open", False)]


async def test_groups_are_filtered_by_value_by_null_and_by_text(serve: Serve) -> None:
    bases = {RowKey(NOON_US, (base, zone)): cells_of(BY_BASE, at) for at, (base, zone) in enumerate(
        (b, z) for b in (None, "B1", "Ω&=") for z in (None, 7)
    )}  # fmt: skip
    vendors = {RowKey(None, (vendor,)): cells_of(VENDOR_TRIPS, vendor or 0) for vendor in (None, 1, 2)}
    client = await serve(ready_directory([task_of(0, {BY_BASE: bases, VENDOR_TRIPS: vendors})]))

    async def groups(view: str, *asked: tuple[str, str]) -> list[dict[str, Any]]:
        answer = await (await client.get(f"/v1/views/{view}/rows", params=list(asked))).json()
        return [row["group"] for row in answer["data"]]

    assert [g["base"] for g in await groups("by_base", ("base", "Ω&="))] == ["Ω&=", "Ω&="]
    both = await groups("by_base", ("base", "null"), ("base", "B1"), ("zone", "7"))
    assert [(g["base"], g["zone_name"]) for g in both] == [(None, "Astoria"), ("B1", "Astoria")]
    assert await groups("vendor_trips", ("vendor", "null")) == [{"vendor": None}]
    assert await groups("vendor_trips") == [{"vendor": None}, {"vendor": 1}, {"vendor": 2}]
    assert await groups("by_base", ("base", "none such")) == []


places = st.lists(st.tuples(st.integers(-5, 20), st.none() | st.integers(1, 5)), max_size=40, unique=True)


@given(
    tables=st.lists(places, min_size=2, max_size=3),
    limit=st.integers(1, 9),
    window=st.sampled_from(["5m", "10m", "1h"]),
    order=st.sampled_from(["asc", "desc"]),
)
def test_following_the_cursor_gives_every_row_once(tables: Any, limit: int, window: str, order: str) -> None:
    """Over two workers, each asked in turn: a cursor belongs to no worker."""
    rows = [zone_table(*placed, seed=100 * at) for at, placed in enumerate(tables)]

    async def follow() -> list[Any]:
        async with server_of(Path("nowhere")) as serve:
            first, *others = [task_of(p, {ZONE_DEMAND: table}) for p, table in enumerate(rows)]
            directories = [
                ready_directory([first], partitions=len(rows)),
                ready_directory(others, partitions=len(rows)),
            ]
            clients = [await serve(directory) for directory in directories]
            urls = [url_of(client) for client in clients]
            for directory in directories:
                directory.owners = {p: urls[min(p, 1)] for p in range(len(rows))}
            return await all_pages(clients, {"limit": str(limit), "window": window, "order": order})

    found = asyncio.run(follow())
    merged = merge_tables(ZONE_DEMAND, rows, {"5m": 1, "10m": 2, "1h": 12}[window] * PANE_US)
    keys = in_order(list(merged)) if order == "asc" else in_order(list(merged))[::-1]
    assert found == [(to_iso(k.window_start_us or 0), k.group[0], ZONE_DEMAND.present(merged[k])) for k in keys]


async def all_pages(clients: list[Any], parameters: dict[str, str]) -> list[Any]:
    """Rows of all pages, asking each client in turn."""
    found: list[Any] = []
    for at in range(1_000):
        answer = await (await clients[at % len(clients)].get("/v1/views/zone_demand/rows", params=parameters)).json()
        found += [(r["window"]["start"], r["group"]["zone"], r["measures"]) for r in answer["data"]]
        if answer["meta"]["next_cursor"] is None:
            return found
        parameters = parameters | {"cursor": answer["meta"]["next_cursor"]}
    raise AssertionError("the pages do not end")


async def test_a_view_says_what_it_is_and_where_its_tasks_stand(serve: Serve) -> None:
    tasks = [task_of(p, {ZONE_DEMAND: zone_table((0, 1), (1, 2))}, watermark_us=NOON_US) for p in range(2)]
    directory = ready_directory(tasks)
    directory.log_end = {("rides.yellow", 0): 130}
    client = await serve(directory)
    listed = await (await client.get("/v1/views")).json()
    assert [view["name"] for view in listed["data"]] == ["zone_demand", "vendor_trips", "by_base"]
    view = await (await client.get("/v1/views/zone_demand")).json()
    assert (view["version"], view["window"]["pane"]) == (ZONE_DEMAND.version, "5m")
    first = view["partitions"][0]
    assert (first["rows"], first["owner"], first["position"]["rides.yellow"]) == (2, url_of(client), 100)
    assert (first["lag_records"]["rides.yellow"], first["lag_records"]["rides.green"]) == (30, None)


async def test_a_task_that_builds_another_version_is_not_answered_from(serve: Serve) -> None:
    task = task_of(0, {ZONE_DEMAND: zone_table((0, 1))})
    position = task.marker.views["zone_demand"]
    object.__setattr__(position, "state", "building")
    object.__setattr__(position, "start", {"rides.yellow": 10})
    object.__setattr__(position, "built", {"rides.yellow": BuildPosition(30)})
    client = await serve(ready_directory([task]))
    answer = await client.get("/v1/views/zone_demand/rows")
    assert answer.status == 503
    assert "being built" in (await answer.json(content_type=None))["detail"]
    ready = await (await client.get("/readyz")).json()
    assert ready["groups"]["rides"]["building"] == {"0": {"zone_demand": {"done_offsets": 20, "all_offsets": 90}}}
