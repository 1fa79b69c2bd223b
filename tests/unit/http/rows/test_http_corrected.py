"""Rows that a correction has set say so: they are no longer what was published of their windows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.engine.core.rows.columns import ViewChange
from app.engine.core.task_state import TaskState
from app.rides.views import ZONE_DEMAND
from tests.support.http import NOON_US, PANE_US, Client, Serve, server_of, url_of, zone_table
from tests.support.material.stored.tables import ready_directory, rows_of_table, task_of

VIEW = "/v1/views/zone_demand"
PLACES = ((0, 132), (0, 4), (1, 132), (6, 132))
CLOSED_US = NOON_US + 2 * PANE_US + ZONE_DEMAND.grace_us


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path) as start:
        yield start


def corrected_task(partition: int, *places: tuple[int, int]) -> TaskState:
    """A task with rows at all places, of which these were set by corrections."""
    task = task_of(partition, {ZONE_DEMAND: zone_table(*PLACES)}, watermark_us=CLOSED_US)
    state, table = task.views[ZONE_DEMAND.name], zone_table(*places)
    rows = rows_of_table(ZONE_DEMAND, table)
    none = rows.at(np.zeros(0, np.intp))
    marked = rows.marked(np.ones(len(rows), bool))
    state.swap_in(ViewChange(np.zeros(0, np.int64), none.cells, marked, state.find_slots(rows)))
    return task


async def told(client: Client, path: str = "rows", **query: str) -> Any:
    answer = await client.get(f"{VIEW}/{path}", params=query)
    assert answer.status == 200, await answer.text()
    return await answer.json()


def states(answer: Any) -> dict[tuple[int, int], tuple[str, bool]]:
    """State, and whether it is final, by pane after noon and zone."""
    starts = {f"2024-01-31T12:{minute:02}:00Z": minute // 5 for minute in range(0, 60, 5)}
    return {
        (starts[row["window"]["start"]], row["group"]["zone"]): (row["state"], row["final"]) for row in answer["data"]
    }


async def test_a_row_of_which_any_task_was_corrected_is_corrected_and_not_final(serve: Serve) -> None:
    client = await serve(ready_directory([corrected_task(0), corrected_task(1, (0, 132))]))
    assert states(await told(client)) == {
        (0, 132): ("corrected", False),
        (0, 4): ("closed", True),
        (1, 132): ("closed", True),
        (6, 132): ("open", False),
    }


async def test_a_window_folded_of_panes_is_corrected_by_one_of_them_once_it_is_closed(serve: Serve) -> None:
    client = await serve(ready_directory([corrected_task(0, (1, 132))]))
    assert states(await told(client, window="10m", zone="132")) == {
        (0, 132): ("corrected", False),
        (6, 132): ("open", False),
    }
    (hour,) = (await told(client, window="1h", zone="132"))["data"]
    assert hour["state"] == "open"


async def test_another_workers_rows_are_corrected_alike(serve: Serve) -> None:
    here = ready_directory([corrected_task(0)], partitions=2)
    there = ready_directory([corrected_task(1, (0, 4))], partitions=2)
    first, second = await serve(here), await serve(there)
    here.owners = {0: url_of(first), 1: url_of(second)}
    assert states(await told(first, zone="4")) == {(0, 4): ("corrected", False)}


@pytest.mark.parametrize("places", [(), ((0, 4),)])
async def test_columns_say_it_too(serve: Serve, places: tuple[tuple[int, int], ...]) -> None:
    client = await serve(ready_directory([corrected_task(0, *places)]))
    statement = {"sql": "SELECT zone, is_corrected FROM zone_demand WHERE is_corrected"}
    answer = await client.post("/v1/sql", json=statement)
    assert (await answer.json())["data"] == [[4, True] for _ in places]
    lines = (await (await client.get(f"{VIEW}/rows", params={"format": "csv"})).text()).splitlines()
    at = lines[0].split(",").index("is_corrected")
    assert [line.split(",")[at] for line in lines[1:]].count("true") == len(places)
