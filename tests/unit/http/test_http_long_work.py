"""What takes long is done beside the event loop, and gives what it would have given on it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.domain.rows import RowKey
from app.domain.view import View
from app.edge.http import long_work
from app.edge.http.context import Edge, ServedGroup
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows import answers, own_parts, page_rows
from app.edge.http.rows.parts import encode_parts, part_of
from app.engine.core.rows.state import ViewChange
from app.engine.drive.ownership.directory import Directory
from app.engine.drive.standing import GroupStanding
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, Serve, server_of, zone_table
from tests.support.material.stored.runs import verdicts_in
from tests.support.material.stored.tables import cells_of, ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"
PLACES = [(pane, zone) for pane in range(6) for zone in (None, 1, 2, 3)]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path) as start:
        yield start


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows are many."""
    monkeypatch.setattr(own_parts, "MANY_ROWS", 0)
    monkeypatch.setattr(long_work, "COPY_ROWS", 2)
    monkeypatch.setattr(answers, "MANY_DOCUMENTS", 0)


def two_tasks() -> Directory:
    tables: list[Any] = [
        {
            ZONE_DEMAND: zone_table(*places),
            VENDOR_TRIPS: {RowKey(None, (str(v),)): cells_of(VENDOR_TRIPS, v) for v in range(5)},
            BY_BASE: {RowKey(NOON_US + at * PANE_US, (base, 1)): cells_of(BY_BASE, at) for at, base in enumerate("ab")},
        }
        for places in (PLACES[:13], PLACES[13:])
    ]
    return ready_directory([task_of(p, table) for p, table in enumerate(tables)])


def edge_of(directory: Directory, view: View, data_dir: Path) -> Edge:
    return Edge([ServedGroup("rides", directory, (view,), (RIDES,))], verdicts_in(data_dir))


@pytest.mark.usefixtures("small_bounds")
@pytest.mark.parametrize(
    "query",
    [
        RowsQuery(ZONE_DEMAND, window_us=3 * PANE_US, limit=3),
        RowsQuery(ZONE_DEMAND, window_us=PANE_US, limit=2, newest_first=True, groups={"zone": (1, None)}),
        RowsQuery(VENDOR_TRIPS, limit=10),
        RowsQuery(BY_BASE, window_us=PANE_US, groups={"zone": (1,)}),
    ],
)
async def test_parts_that_are_made_beside_the_loop_are_those_made_on_it(query: RowsQuery, tmp_path: Path) -> None:
    directory = two_tasks()
    expected = [part_of(directory, task, query) for task in directory.tasks.values()]
    given = await own_parts.own_parts(edge_of(directory, query.view, tmp_path), query, [0, 1])
    assert encode_parts(given) == encode_parts(expected)


@pytest.mark.usefixtures("small_bounds")
async def test_a_part_is_of_one_commit_while_its_task_goes_on(tmp_path: Path) -> None:
    directory = two_tasks()
    task, query = directory.tasks[0], RowsQuery(ZONE_DEMAND, window_us=PANE_US)
    state, expected = task.views["zone_demand"], part_of(directory, task, query)
    making = asyncio.create_task(own_parts.own_parts(edge_of(directory, ZONE_DEMAND, tmp_path), query, [0]))
    while not making.done():
        await asyncio.sleep(0)
        every = np.arange(len(state))
        state.swap_in(ViewChange(every, state.cells_at(every) + 1, state.rows_at(every[:0])))
        task.marker = replace(task.marker, sequence=task.marker.sequence + 1)
    (part,) = await making
    changes = task.marker.sequence - expected.sequence
    before = part.sequence - expected.sequence
    assert changes > before
    assert part.rows.cells.tolist() == (expected.rows.cells + before).tolist()


@pytest.mark.usefixtures("small_bounds")
async def test_a_worker_that_may_not_answer_by_its_turn_gives_no_part(tmp_path: Path) -> None:
    directory = two_tasks()
    edge, query = edge_of(directory, ZONE_DEMAND, tmp_path), RowsQuery(ZONE_DEMAND, window_us=PANE_US)
    async with edge.long_work.turn:
        making = asyncio.create_task(own_parts.own_parts(edge, query, [0, 1]))
        await asyncio.sleep(0)
        directory.standing = GroupStanding.REBALANCING
    assert await making == []


async def test_many_rows_are_folded_and_told_in_threads_and_few_on_the_loop(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def noting(work: Any) -> Any:
        def noted(*args: Any, **kwargs: Any) -> Any:
            threads.append(threading.current_thread().name)
            return work(*args, **kwargs)

        return noted

    monkeypatch.setattr(page_rows, "merged", noting(page_rows.merged))
    monkeypatch.setattr(answers, "whole_page", noting(answers.whole_page))
    client = await serve(two_tasks())
    few = await (await client.get(ROWS)).json()
    assert set(threads) == {threading.main_thread().name}
    threads.clear()
    monkeypatch.setattr(own_parts, "MANY_ROWS", len(PLACES) - 1)
    monkeypatch.setattr(answers, "MANY_DOCUMENTS", len(few["data"]) - 1)
    assert (await (await client.get(ROWS)).json())["data"] == few["data"]
    assert len(threads) == 3
    assert all(name.startswith("long-work") for name in threads)


@pytest.mark.usefixtures("small_bounds")
async def test_a_worker_that_folds_for_another_begins_to_answer_before_it_has_folded(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_fold, merged = threading.Event(), page_rows.merged

    def fold_later(*args: Any) -> Any:
        may_fold.wait()
        return merged(*args)

    directory = two_tasks()
    expected = part_of(directory, directory.tasks[0], RowsQuery(ZONE_DEMAND, window_us=PANE_US))
    monkeypatch.setattr(page_rows, "merged", fold_later)
    client = await serve(directory)
    try:
        answer = await client.get("/v1/internal/views/zone_demand/parts?partition=0")
        assert answer.status == 200
        assert (await client.get("/livez")).status == 200
    finally:
        may_fold.set()
    assert await answer.read() == encode_parts([expected])


@pytest.mark.usefixtures("small_bounds")
async def test_a_fold_that_fails_after_the_answer_began_is_cut(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    there = await serve(two_tasks())
    monkeypatch.setattr(page_rows, "merged", None)
    here = ready_directory([], partitions=2)
    here.owners = dict.fromkeys((0, 1), str(there.make_url("")).rstrip("/"))
    answer = await (await serve(here)).get(ROWS)
    assert (answer.status, "partitions-missing" in await answer.text()) == (503, True)


async def test_steps_of_all_long_work_are_taken_one_at_a_time_and_others_have_their_turns_between() -> None:
    work, told = long_work.LongWork(), list[str]()

    def steps(name: str) -> Iterator[int]:
        for nth in range(4):
            told.append(f"{name} begins")
            time.sleep(0.002)
            told.append(f"{name} ends")
            yield nth

    async def taking(name: str) -> list[int]:
        return [nth async for nth in work.in_steps(steps(name))]

    async def beat() -> None:
        while True:
            told.append("beat")
            await asyncio.sleep(0)

    beating = asyncio.create_task(beat())
    first, second = await asyncio.gather(taking("a"), taking("b"))
    beating.cancel()
    assert first == second == [0, 1, 2, 3]
    taken = [one for one in told if one != "beat"]
    assert taken == [f"{name} {what}" for name in "abababab" for what in ("begins", "ends")]
    behind = [after for before, after in pairwise(told) if before.endswith("ends")]
    assert set(behind) == {"beat"}


async def test_steps_that_nobody_waits_for_any_more_leave_the_turn_to_others() -> None:
    work = long_work.LongWork()

    async def left() -> None:
        async for _ in work.in_steps(range(10**6)):
            pass

    task = asyncio.create_task(left())
    await asyncio.sleep(0)
    task.cancel()
    assert [one async for one in work.in_steps(range(2))] == [0, 1]
