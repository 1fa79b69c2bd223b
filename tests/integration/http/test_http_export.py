"""The export over HTTP: one task, one commit, and the loop goes on meanwhile."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from app.codecs.stored.export import check_digest, read_export, stored_rows
from app.domain.rows import RowKey
from app.edge.http import long_work
from app.edge.http.rows import export_handler
from app.engine.core.rows.state import ViewChange
from app.rides.views import ZONE_DEMAND
from tests.support.http import NOON_US, PANE_US, Serve, one_task, url_of, zone_table
from tests.support.material.stored.tables import cells_of, ready_directory, task_of


async def test_an_export_is_the_task_its_marker_and_nothing_else(serve: Serve) -> None:
    directory = one_task()
    client = await serve(directory)
    answer = await client.get("/v1/views/zone_demand/export?partition=0")
    metadata, table = read_export(await answer.read())
    check_digest(ZONE_DEMAND, metadata, table)
    task = directory.tasks[0]
    assert (metadata.marker, metadata.changelog_offset) == (task.marker, task.marker_offset)
    assert stored_rows(ZONE_DEMAND, table) == task.views["zone_demand"].stored()


async def test_an_export_of_another_workers_task_sends_the_client_there_once(serve: Serve) -> None:
    there = await serve(one_task())
    directory = ready_directory([], partitions=1)
    directory.owners = {0: url_of(there)}
    here = await serve(directory)
    answer = await here.get("/v1/views/zone_demand/export?partition=0", allow_redirects=False)
    assert (answer.status, answer.headers["Location"].startswith(url_of(there))) == (307, True)
    followed = await here.get("/v1/views/zone_demand/export?partition=0")
    assert read_export(await followed.read())[0].row_count == 2
    again = await here.get("/v1/views/zone_demand/export?partition=0&hop=1", allow_redirects=False)
    assert again.status == 503


async def test_an_export_is_of_one_marker_while_the_task_goes_on(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_handler, "SLICE_ROWS", 16)
    monkeypatch.setattr(long_work, "COPY_ROWS", 16)
    table = zone_table(*((pane, zone) for pane in range(40) for zone in range(1, 30)))
    directory = ready_directory([task_of(0, {ZONE_DEMAND: table})])
    state = directory.tasks[0].views["zone_demand"]
    before = state.stored()
    client = await serve(directory)
    answer = await client.get("/v1/views/zone_demand/export?partition=0")
    every_slot = np.arange(len(state))
    state.swap_in(ViewChange(every_slot, state.cells_at(every_slot) + 1, state.rows_at(every_slot[:0])))
    metadata, exported = read_export(await answer.read())
    check_digest(ZONE_DEMAND, metadata, exported)
    assert stored_rows(ZONE_DEMAND, exported) == before


async def test_an_export_gives_the_loop_back(serve: Serve) -> None:
    table = {
        RowKey(NOON_US + pane * PANE_US, (zone,)): cells_of(ZONE_DEMAND, zone)
        for pane in range(200)
        for zone in range(1, 100)
    }
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: table})]))
    turns, done = 0, asyncio.Event()

    async def count_turns() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await (await client.get("/v1/views/zone_demand/export?partition=0")).read()
    done.set()
    await counting
    assert turns > len(table) / export_handler.SLICE_ROWS
