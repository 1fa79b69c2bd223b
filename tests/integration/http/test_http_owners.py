"""Rows of several workers over HTTP: whoever is asked gathers them from the owners of the partitions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from app.base.setting_groups import HttpSettings
from app.edge.http.context import EDGE
from app.edge.http.query.rows_query import ALL_ROWS, DEFAULT_LIMIT, RowsQuery
from app.edge.http.rows.gather import gather
from app.rides.views import ZONE_DEMAND
from tests.support.http import BY_BASE, PANE_US, Serve, server_of, url_of, zone_table
from tests.support.material.stored.tables import in_order, merge_tables, ready_directory, task_of


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


async def test_a_worker_is_told_all_that_another_has_of_a_row(serve: Serve) -> None:
    """As whoever looks for its records must be: more rows than an answer has where no limit is named."""
    tables = [task_of(p, {ZONE_DEMAND: zone_table(*((pane, 1) for pane in range(DEFAULT_LIMIT + 1)))}) for p in (0, 1)]
    there = await serve(ready_directory(tables[1:], partitions=2))
    directory = ready_directory(tables[:1], partitions=2)
    directory.owners = {0: directory.url, 1: url_of(there)}
    here = await serve(directory)
    assert here.app is not None
    query = RowsQuery(ZONE_DEMAND, window_us=PANE_US, limit=ALL_ROWS, groups={"zone": (1,)})
    found = await gather(here.app[EDGE], query, takes_partial=False)
    assert [len(found.parts[partition].rows) for partition in (0, 1)] == [DEFAULT_LIMIT + 1] * 2


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


async def test_a_statement_reads_all_rows_of_all_workers(tmp_path: Path) -> None:
    """Each worker has as many as it may fold, and both together more."""
    tables = [zone_table(*((pane, zone) for zone in range(1, 6)), seed=pane) for pane in range(2)]
    async with server_of(tmp_path, limits=HttpSettings(max_rows=5)) as serve:
        there = await serve(ready_directory([task_of(1, {ZONE_DEMAND: tables[1]})], partitions=2))
        directory = ready_directory([task_of(0, {ZONE_DEMAND: tables[0]})], partitions=2)
        directory.owners = {0: directory.url, 1: url_of(there)}
        here = await serve(directory)
        async with here.post("/v1/sql", json={"sql": "SELECT count(*) FROM zone_demand"}) as response:
            assert (await response.json())["data"] == [[10]]


async def test_nobody_is_told_to_allow_what_a_question_does_not_take(serve: Serve, unused_tcp_port: int) -> None:
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 1))})], partitions=2)
    directory.owners = {0: directory.url, 1: f"http://127.0.0.1:{unused_tcp_port}"}
    client = await serve(directory)
    told = [
        await client.get("/v1/views/zone_demand/rows"),
        await client.post("/v1/sql", json={"sql": "FROM zone_demand"}),
    ]
    details = [(await one.json(content_type=None))["detail"] for one in told]
    assert ["partial=allow" in detail for detail in details] == [True, False]


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
