"""Windows that have left the tables, over HTTP and of several workers."""

from __future__ import annotations

from pathlib import Path

from app.domain.windows.instants import to_iso
from app.rides.views import ZONE_DEMAND
from tests.support.expiry import left
from tests.support.http import NOON_US, PANE_US, Serve, server_of, url_of, zone_table
from tests.support.material.stored.gold import RUN, write_gold
from tests.support.material.stored.tables import in_order, merge_tables, ready_directory

ROWS = "/v1/views/zone_demand/rows"


async def test_what_has_left_one_workers_table_is_had_from_the_history_and_from_no_other(tmp_path: Path) -> None:
    tables = [zone_table((0, 1), (1, 1), (2, 1)), zone_table((0, 1), (1, 2), (2, 3), seed=9)]
    whole, left_us = merge_tables(ZONE_DEMAND, tables, PANE_US), NOON_US + 2 * PANE_US
    write_gold(tmp_path, ZONE_DEMAND, {k: whole[k] for k in whole if (k.window_start_us or 0) < left_us}, left_us)
    async with server_of(tmp_path, history=tmp_path) as serve:
        there = await serve(ready_directory([left(ZONE_DEMAND, tables[1], left_us, 1)], partitions=2))
        directory = ready_directory([left(ZONE_DEMAND, tables[0], NOON_US + PANE_US)], partitions=2)
        directory.owners = {0: directory.url, 1: url_of(there)}
        here = await serve(directory)
        answer = await (await here.get(ROWS, params={"from": to_iso(NOON_US)})).json()
        assert [row["count"] for row in answer["data"]] == [whole[key][0] for key in in_order(list(whole))]
        assert {row["source"] for row in answer["data"]} == {"batch", "live"}
        assert answer["meta"]["left_before"] == to_iso(left_us)
        assert answer["meta"]["history"] == {"run": RUN, "final_to": to_iso(left_us)}


async def test_windows_that_neither_has_are_a_404_that_says_what_there_is(serve: Serve) -> None:
    client = await serve(ready_directory([left(ZONE_DEMAND, zone_table((0, 1), (1, 1)), NOON_US + PANE_US)]))
    answer = await client.get(ROWS, params={"from": to_iso(NOON_US)})
    problem = await answer.json()
    assert (answer.status, problem["type"].rpartition(":")[2]) == (404, "not-in-history")
    again = await client.get(ROWS, params={"from": problem["left_before"]})
    assert [row["window"]["start"] for row in (await again.json())["data"]] == [to_iso(NOON_US + PANE_US)]


async def test_workers_refuse_a_first_start_that_is_none(serve: Serve) -> None:
    client = await serve(ready_directory([left(ZONE_DEMAND, {}, None)]))
    asked = {"partition": "0", "stored_from_us": "soon"}
    answer = await client.get("/v1/internal/views/zone_demand/parts", params=asked)
    assert (answer.status, (await answer.json())["parameter"]) == (400, "stored_from_us")
