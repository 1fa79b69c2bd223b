"""Rows over HTTP: merged over tasks, folded, filtered, paged; every answer names its position."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from app.domain.fold import RowKey
from app.domain.measures import Count, First, Last, Min
from app.domain.view import AllTime, Group, Tumbling, View
from app.edge.http.application import create_app
from app.edge.http.instants import to_iso
from app.engine.directory import Directory
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.tables import cells_of, in_order, merge_tables, ready_directory, task_of

PANE_US = 300_000_000
NOON_US = 1_706_702_400_000_000
BY_BASE = View(
    77, "by_base", RIDES, (Group("base", "dispatching_base"), Group("zone", "pickup_zone")),
    Tumbling("pickup_at_us", 300),
    (Count("rides"), First("first_us", "duration_us"), Last("last_us", "duration_us"), Min("least", "fare_cents")),
    3600, 0, "By base, a text.",
)  # fmt: skip
VIEWS = (ZONE_DEMAND, VENDOR_TRIPS, BY_BASE)

Client = TestClient[web.Request, web.Application]
Serve = Callable[[Directory], Awaitable[Client]]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Starts the application of a directory; the directory's URL becomes the server's, as a worker's would be."""
    clients: list[Client] = []

    async def start(directory: Directory) -> Client:
        client: Client = TestClient(TestServer(create_app(directory, VIEWS, tmp_path)))
        await client.start_server()
        clients.append(client)
        url = str(client.make_url("")).rstrip("/")
        directory.owners = {p: url if o == directory.url else o for p, o in directory.owners.items()}
        directory.url = url
        return client

    yield start
    for client in clients:
        await client.close()


def zone_table(*places: tuple[int, int | None], seed: int = 1) -> dict[RowKey, tuple[int, ...]]:
    """Rows at (pane number after noon, zone)."""
    return {
        RowKey(NOON_US + pane * PANE_US, (zone,)): cells_of(ZONE_DEMAND, seed + at)
        for at, (pane, zone) in enumerate(places)
    }


async def test_rows_are_merged_over_all_tasks(serve: Serve) -> None:
    tables = [zone_table((0, 132), (1, 7)), zone_table((0, 132), (0, None), seed=50)]
    client = await serve(ready_directory([task_of(p, {ZONE_DEMAND: t}) for p, t in enumerate(tables)]))
    answer = await (await client.get("/v1/views/zone_demand/rows")).json()
    merged = merge_tables(ZONE_DEMAND, tables, PANE_US)
    expected = [
        (to_iso(k.window_start_us or 0), k.group[0], ZONE_DEMAND.present(merged[k]))
        for k in in_order(list(merged))
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
    directory.owners = {0: directory.url, 1: str(there.make_url("")).rstrip("/")}
    here = await serve(directory)
    answer = await (await here.get("/v1/views/zone_demand/rows")).json()
    merged = merge_tables(ZONE_DEMAND, tables, PANE_US)
    assert [r["count"] for r in answer["data"]] == [merged[k][0] for k in in_order(list(merged))]


async def test_a_partition_that_cannot_be_had_is_a_503_or_a_named_hole(
    serve: Serve, unused_tcp_port: int
) -> None:
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
