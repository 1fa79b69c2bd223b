"""Rows over HTTP: merged over tasks, folded, filtered, paged; every answer names its position."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.domain.marker import BuildPosition
from app.domain.rows import RowKey
from app.domain.windows.instants import to_iso
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, Serve, server_of, url_of, zone_table
from tests.support.material.stored.tables import cells_of, in_order, merge_tables, ready_directory, task_of


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
    vendors = {RowKey(None, (vendor,)): cells_of(VENDOR_TRIPS, at) for at, vendor in enumerate((None, "1", "2"))}
    client = await serve(ready_directory([task_of(0, {BY_BASE: bases, VENDOR_TRIPS: vendors})]))

    async def groups(view: str, *asked: tuple[str, str]) -> list[dict[str, Any]]:
        answer = await (await client.get(f"/v1/views/{view}/rows", params=list(asked))).json()
        return [row["group"] for row in answer["data"]]

    assert [g["base"] for g in await groups("by_base", ("base", "Ω&="))] == ["Ω&=", "Ω&="]
    both = await groups("by_base", ("base", "null"), ("base", "B1"), ("zone", "7"))
    assert [(g["base"], g["zone_name"]) for g in both] == [(None, "Astoria"), ("B1", "Astoria")]
    assert await groups("vendor_trips", ("vendor", "null")) == [{"vendor": None}]
    assert await groups("vendor_trips") == [{"vendor": None}, {"vendor": "1"}, {"vendor": "2"}]
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
