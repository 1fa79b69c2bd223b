"""Statements of SQL over the rows of views: what they are answered with, by any worker, and at which position."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from app.domain.measures.kinds import Count, Histogram, Last, Max
from app.domain.rows import RowKey
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.instants import to_iso
from app.domain.windows.session import Session
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, Client, Serve, server_of, url_of, zone_table
from tests.support.material.stored.tables import cells_of, ready_directory, task_of
from tests.support.material.views import HOPPING

STREAKS = View(
    number=70,
    name="streaks",
    source=RIDES,
    groups=(Group("zone", "pickup_zone"),),
    window=Session("pickup_at_us", gap_seconds=300),
    measures=(Count("rides"), Histogram("fares", "fare_cents", (0, 1_000)), Last("last_cents", "fare_cents")),
    grace_seconds=0,
    retention_seconds=0,
    help="Sessions.",
)
LATEST = View(
    number=71,
    name="latest",
    source=RIDES,
    groups=(Group("vendor", "vendor"),),
    window=AllTime(),
    measures=(Max("latest_us", "pickup_at_us"),),
    grace_seconds=0,
    retention_seconds=0,
    help="All time.",
)
VIEWS = (ZONE_DEMAND, VENDOR_TRIPS, BY_BASE, STREAKS, LATEST, HOPPING)
TWO_TASKS = [{ZONE_DEMAND: zone_table((p, 4), (1, 132 + p), seed=5 + p)} for p in range(2)]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, VIEWS) as start:
        yield start


def one_of(tables: Any) -> Any:
    return ready_directory([task_of(0, tables)])


async def told(client: Client, sql: str, **more: Any) -> dict[str, Any]:
    async with client.post("/v1/sql", json={"sql": sql, **more}) as response:
        answer: dict[str, Any] = await response.json(content_type=None)
        assert response.status == 200, answer
        return answer


async def rows(client: Client, sql: str, **more: Any) -> list[list[Any]]:
    found: list[list[Any]] = (await told(client, sql, **more))["data"]
    return found


async def pages(client: Client, view: str) -> list[Any]:
    found: list[Any] = (await (await client.get(f"/v1/views/{view}/rows")).json())["data"]
    return found


async def test_a_statement_reads_the_rows_that_the_api_tells_merged_over_tasks(serve: Serve) -> None:
    client = await serve(ready_directory([task_of(p, table) for p, table in enumerate(TWO_TASKS)]))
    found = await rows(client, "SELECT window_start, zone, zone_name, rides, fingerprint FROM zone_demand ORDER BY ALL")
    assert found == [
        [
            row["window"]["start"],
            row["group"]["zone"],
            row["group"]["zone_name"],
            row["measures"]["rides"],
            int(row["fingerprint"], 16),
        ]
        for row in await pages(client, "zone_demand")
    ]


@pytest.mark.parametrize(
    ("view", "group"),
    [(ZONE_DEMAND, (132,)), (VENDOR_TRIPS, ("Ω",)), (BY_BASE, (None, 4)), (STREAKS, (7,)), (LATEST, ("b",))],
    ids=lambda one: one.name if isinstance(one, View) else "",
)
async def test_every_kind_of_view_is_a_table_of_its_rows(serve: Serve, view: View, group: tuple[Any, ...]) -> None:
    start_us = NOON_US if view.window.ends else None
    client = await serve(one_of({view: {RowKey(start_us, group): cells_of(view, 3)}}))
    assert await as_told(client, view) == [as_shown(row) for row in await pages(client, view.name)]


async def test_overlapping_windows_are_rows_each(serve: Serve) -> None:
    overlap = HOPPING.window.overlap
    assert overlap is not None
    pane_us = overlap.pane_start(NOON_US)
    key = RowKey(pane_us, (overlap.first_ending_after(pane_us), 132, "1"))
    client = await serve(one_of({HOPPING: {key: cells_of(HOPPING, 3)}}))
    found = await as_told(client, HOPPING)
    assert found == [as_shown(row) for row in await pages(client, HOPPING.name)]
    assert len(found) > 1


def pages_count(page: list[Any]) -> int:
    (row,) = page
    count: int = row["count"]
    return count


async def as_told(client: Client, view: View) -> list[dict[str, Any]]:
    """Rows of the whole table, by column."""
    answer = await told(client, f"SELECT * FROM {view.name} ORDER BY ALL")
    return [dict(zip((c["name"] for c in answer["columns"]), one, strict=True)) for one in answer["data"]]


def as_shown(row: Any) -> dict[str, Any]:
    """The same of a row that the API tells."""
    window = {f"window_{end}": at for end, at in row["window"].items()} if row["window"] else {}
    states = {"is_closed": row["state"] != "open", "is_corrected": row["state"] == "corrected"} if window else {}
    proof = {"count": row["count"], "fingerprint": int(row["fingerprint"], 16)}
    return window | states | row["group"] | row["measures"] | proof


async def test_views_of_one_group_are_read_at_one_position_which_meta_names(serve: Serve) -> None:
    client = await serve(one_of({ZONE_DEMAND: zone_table((0, 4)), STREAKS: {}}))
    sql = "SELECT count(*) FROM zone_demand, streaks WHERE zone_demand.zone = streaks.zone"
    answer = await told(client, sql)
    assert answer["data"] == [[0]]
    assert set(answer["meta"]["views"]) == {"zone_demand", "streaks"}
    demand, streaks = answer["meta"]["views"].values()
    assert demand["position"] == streaks["position"]


async def test_names_of_zones_are_a_table_too(serve: Serve) -> None:
    client = await serve(one_of({STREAKS: {RowKey(NOON_US, (132,)): cells_of(STREAKS, 3)}}))
    sql = "SELECT name, borough, count FROM Streaks JOIN Zones USING (zone)"
    answer = await told(client, sql)
    assert answer["data"] == [["JFK Airport", "Queens", pages_count(await pages(client, "streaks"))]]
    assert answer["meta"]["zones"] == answer["meta"]["views"]["streaks"]["zones"]


async def test_the_lowest_watermark_of_what_is_read_can_be_asked_for(serve: Serve) -> None:
    directory = ready_directory([task_of(0, TWO_TASKS[0], watermark_us=NOON_US)])
    client = await serve(directory)
    now = to_iso(NOON_US)
    assert await rows(client, "SELECT DISTINCT getvariable('as_of') FROM zone_demand") == [[now]]
    within = "SELECT count(*) FROM zone_demand WHERE window_start >= getvariable('as_of') - INTERVAL 15 MINUTES"
    assert await rows(client, within) == [[2]]
    assert await rows(client, "SELECT getvariable('as_of')") == [[None]]


@pytest.mark.parametrize(
    "sql",
    [
        "WITH zone_demand AS (SELECT zone FROM zone_demand) SELECT count(*) FROM zone_demand",
        "WITH busy AS (FROM zone_demand) SELECT count(*) FROM busy",
        "SELECT count(*) FROM zone_demand a JOIN zone_demand b USING (window_start, zone)",
        "SELECT (SELECT count(*) FROM ZONE_DEMAND)",
        "SELECT count(*) FROM (PIVOT zone_demand ON is_closed IN (true, false) USING sum(rides) GROUP BY zone)",
        "FROM (SUMMARIZE zone_demand) SELECT DISTINCT count",
        'SELECT count(*) FROM "zone_demand" WHERE zone IN (SELECT zone FROM zone_demand)',
    ],
)
async def test_tables_are_found_wherever_a_statement_names_them(serve: Serve, sql: str) -> None:
    client = await serve(one_of({ZONE_DEMAND: zone_table((0, 4), (0, 5), (0, 6))}))
    assert await rows(client, sql) == [[3]]


async def test_an_owner_gives_its_tasks_and_a_dead_one_is_named(serve: Serve) -> None:
    there = await serve(ready_directory([task_of(1, TWO_TASKS[1])], partitions=2))
    directory = ready_directory([task_of(0, TWO_TASKS[0])], partitions=2)
    directory.owners = {0: directory.url, 1: url_of(there)}
    here = await serve(directory)
    assert await rows(here, "SELECT count(*) FROM zone_demand") == [[len(await pages(here, "zone_demand"))]]
    directory.owners[1] = "http://127.0.0.1:1"
    async with here.post("/v1/sql", json={"sql": "FROM zone_demand"}) as response:
        problem = await response.json(content_type=None)
    assert (response.status, problem["missing"][0]["partition"]) == (503, 1)


async def test_windows_of_a_range_are_read_alone(serve: Serve) -> None:
    client = await serve(one_of({ZONE_DEMAND: zone_table((0, 4), (1, 4), (2, 4))}))
    ends = {"from": to_iso(NOON_US + PANE_US), "to": to_iso(NOON_US + 2 * PANE_US)}
    assert await rows(client, "SELECT window_start FROM zone_demand", **ends) == [[ends["from"]]]


async def test_a_median_may_be_weighted_by_counts(serve: Serve) -> None:
    """As is asked of rows that are grouped by a value too."""
    client = await serve(one_of({ZONE_DEMAND: zone_table((0, 4), (0, 5), (0, 6), seed=0)}))
    counted = {row["group"]["zone"]: row["measures"]["rides"] for row in await pages(client, "zone_demand")}
    zones = sorted(zone for zone, rides in counted.items() for _ in range(rides))
    sql = "SELECT quantile_disc(zone, 0.5) FROM zone_demand, range(rides)"
    assert await rows(client, sql) == [[zones[(len(zones) - 1) // 2]]]


@pytest.mark.parametrize(
    ("asked", "headers"),
    [
        ({"format": "arrow"}, {}),
        ({"format": "arrow"}, {"Accept": "application/json"}),
        ({}, {"Accept": "application/json;q=0.5, application/vnd.apache.arrow.stream"}),
    ],
)
async def test_an_arrow_stream_has_meta_in_its_schema(
    serve: Serve, asked: dict[str, str], headers: dict[str, str]
) -> None:
    client = await serve(one_of(TWO_TASKS[0]))
    async with client.post("/v1/sql", json={"sql": "FROM zone_demand", **asked}, headers=headers) as response:
        body = await response.read()
    assert response.headers["Content-Type"] == "application/vnd.apache.arrow.stream"
    with pa.ipc.open_stream(body) as stream:
        table = stream.read_all()
    assert table.num_rows == 2
    assert "zone_demand" in json.loads((table.schema.metadata or {})[b"flagfall-meta"])["views"]


async def test_values_of_a_column_are_all_of_one_form(serve: Serve) -> None:
    client = await serve(one_of(TWO_TASKS[0]))
    sql = """SELECT 170141183460469231731687303715884105727::HUGEINT, 1.50::DECIMAL(9, 2), sum(1), 'a'::BLOB,
        INTERVAL '90.5 SECONDS', DATE '2026-01-05', [2.50, NULL]"""
    expected = [170141183460469231731687303715884105727, 1.5, 1, "61", "P0M0DT90.5S", "2026-01-05", [2.5, None]]
    assert await rows(client, sql) == [expected]
    assert await rows(client, "SELECT x * 0.5 FROM range(3) t(x) ORDER BY 1") == [[0.0], [0.5], [1.0]]


async def test_a_long_expression_is_answered(serve: Serve) -> None:
    client = await serve(one_of(TWO_TASKS[0]))
    assert await rows(client, "SELECT " + "+".join(["1"] * 900)) == [[900]]
    assert await rows(client, "SELECT length(" + "||".join(["'a'"] * 900) + ")") == [[900]]


async def test_a_view_may_be_named_with_its_schema(serve: Serve) -> None:
    client = await serve(one_of(TWO_TASKS[0]))
    assert await rows(client, "SELECT count(*) FROM main.zone_demand") == [[2]]
