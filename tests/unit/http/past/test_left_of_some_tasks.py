"""What has left one task's table, and not yet the others': no answer is made of what these still have of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.engine.core.task_state import TaskState
from app.rides.views import ZONE_DEMAND
from tests.support.expiry import left
from tests.support.http import NOON_US, Client, Serve, server_of
from tests.support.material.stored.places import near, table_at
from tests.support.material.stored.tables import cells_of, ready_directory
from tests.support.material.views import SHIFTS

VIEWS = (ZONE_DEMAND, SHIFTS)
SECOND_US = 1_000_000


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, VIEWS) as start:
        yield start


async def panes(serve: Serve) -> Client:
    """Of six panes the second task has lost three."""
    tables = [table_at(ZONE_DEMAND, [(nth, 7) for nth in range(6)], seed) for seed in range(2)]
    tasks = [left(ZONE_DEMAND, tables[0], None), left(ZONE_DEMAND, tables[1], near(ZONE_DEMAND, 3), 1)]
    return await serve(ready_directory(tasks))


def session(start_seconds: int, last_seconds: int) -> Mapping[RowKey, Cells]:
    held = dict(zip(SHIFTS.cells, cells_of(SHIFTS, 1), strict=True))
    held[SHIFTS.cells[SHIFTS.last_at]] = NOON_US + last_seconds * SECOND_US
    group = tuple("A" if text else 1 for text in SHIFTS.texts)
    return {RowKey(NOON_US + start_seconds * SECOND_US, group): tuple(held.values())}


def having_lost(view: View, task: TaskState, expired_to_us: int) -> TaskState:
    position = replace(task.marker.views[view.name], expired_to_us=expired_to_us)
    task.marker = replace(task.marker, views={view.name: position})
    return task


async def test_the_records_of_such_a_row_are_not_looked_for(serve: Serve) -> None:
    client = await panes(serve)
    asked = {"zone": "7", "from": to_iso(near(ZONE_DEMAND, 2))}
    answer = await client.get("/v1/views/zone_demand/evidence", params=asked)
    problem = await answer.json(content_type=None)
    assert (answer.status, problem["type"], problem["left_before"]) == (
        404,
        "urn:flagfall:problem:not-in-history",
        to_iso(near(ZONE_DEMAND, 3)),
    )


async def test_statements_do_not_read_such_rows(serve: Serve) -> None:
    client = await panes(serve)
    statement = {"sql": "SELECT min(window_start) AS first, count(*) AS panes FROM zone_demand"}
    (row,) = (await (await client.post("/v1/sql", json=statement)).json())["data"]
    assert row == [to_iso(near(ZONE_DEMAND, 3)), 3]


async def test_sessions_that_may_have_lost_their_beginning_are_not_told(serve: Serve) -> None:
    gap_us = SHIFTS.window.end(0, 0)
    pieces = {**session(0, 1), **session(gap_us // SECOND_US + 60, gap_us // SECOND_US + 90)}
    tasks = [left(SHIFTS, pieces, None), having_lost(SHIFTS, left(SHIFTS, {}, None, 1), NOON_US + SECOND_US)]
    client = await serve(ready_directory(tasks))
    answer = await (await client.get(f"/v1/views/{SHIFTS.name}/rows")).json()
    assert [row["window"]["start"] for row in answer["data"]] == [to_iso(NOON_US + gap_us + 60 * SECOND_US)]
    assert answer["meta"]["left_before"] == to_iso(NOON_US + SECOND_US + 1)
