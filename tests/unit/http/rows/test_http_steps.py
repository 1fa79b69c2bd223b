"""Windows that are folded from panes when they are asked for, and begin oftener than they end (`window` and `step`)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import MultiDict

from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.edge.http.problems import Problem
from app.edge.http.query.instants import to_us
from app.edge.http.query.read_query import read_query
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.fold_rows import key_at
from app.edge.http.rows.page_rows import reading_of
from app.edge.http.rows.parts import part_of
from app.rides.views import ZONE_DEMAND
from tests.support.following.event_stream import events_of
from tests.support.http import NOON_US, PANE_US, Serve, server_of, zone_table
from tests.support.material.stored.tables import cells_of, in_order, ready_directory, task_of
from tests.support.material.views import SHIFTED

VIEWS = (ZONE_DEMAND, SHIFTED)
ROWS = "/v1/views/zone_demand/rows"
QUARTERS = {"window": "15m", "step": "5m"}


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, VIEWS) as start:
        yield start


def by_window(view: View, panes: dict[RowKey, Cells], size: int, step: int) -> dict[RowKey, Cells]:
    """Each pane in every window that holds it, counted one by one; sizes in panes."""
    window: Any = view.window
    pane_us = window.size_us
    held: dict[RowKey, list[Cells]] = {}
    for key, cells in panes.items():
        nth = ((key.window_start_us or 0) - window.panes.offset_us) // pane_us
        for first in range(nth - size + 1, nth + 1):
            if first % step == 0:
                start_us = first * pane_us + window.panes.offset_us
                held.setdefault(RowKey(start_us, key.group), []).append(cells)
    return {key: merge_rows(view, several) for key, several in held.items()}


def table_of(view: View, drawn: list[tuple[int, int | None]]) -> dict[RowKey, Cells]:
    window: Any = view.window
    start_us = window.start(NOON_US)
    keys = [RowKey(start_us + nth * window.size_us, (zone, "1")[: len(view.groups)]) for nth, zone in drawn]
    return {key: cells_of(view, seed) for seed, key in enumerate(keys)}


@given(
    view=st.sampled_from(VIEWS),
    drawn=st.lists(st.tuples(st.integers(-9, 30), st.none() | st.integers(1, 3)), max_size=40),
    sizes=st.tuples(st.integers(2, 7), st.integers(1, 6)).filter(lambda sizes: sizes[1] < sizes[0]),
    bounds=st.tuples(*[st.none() | st.integers(-12, 30)] * 2).filter(lambda at: None in at or at[0] <= at[1]),
    limit=st.integers(1, 5),
    newest=st.booleans(),
)
def test_all_pages_together_hold_each_window_once_and_whole(
    *, view: View, drawn: Any, sizes: tuple[int, int], bounds: tuple[int | None, ...], limit: int, newest: bool
) -> None:
    table, window = table_of(view, drawn), view.window
    pane_us: int = window.size_us  # type: ignore[attr-defined]
    from_us, until_us = (None if at is None else NOON_US + at * pane_us for at in bounds)
    wanted = {
        key: cells
        for key, cells in by_window(view, table, *sizes).items()
        if (from_us is None or (key.window_start_us or 0) >= from_us)
        and (until_us is None or (key.window_start_us or 0) < until_us)
    }
    lengths = {"window_us": sizes[0] * pane_us, "step_us": sizes[1] * pane_us}
    query, seen = RowsQuery(view, from_us, until_us, **lengths, limit=limit, newest_first=newest), []
    task = task_of(0, {view: table})
    while True:
        assert query == read_query(view, MultiDict(query.parameters()))
        rows = part_of(ready_directory([task]), task, query).rows
        assert len(rows) <= limit + 1
        seen += [(key_at(rows, at), tuple(rows.cells[at].tolist())) for at in range(min(limit, len(rows)))]
        if len(rows) <= limit:
            break
        query = replace(query, after=seen[-1][0])
    keys = in_order(list(wanted))
    assert seen == [(key, wanted[key]) for key in (keys[::-1] if newest else keys)]


async def test_windows_with_a_step_are_merged_over_tasks_and_end_where_they_end(serve: Serve) -> None:
    tables = [zone_table((0, 132), (1, 132), (2, 7)), zone_table((1, 132), (3, 132), seed=50)]
    marks_us = NOON_US + 3 * PANE_US + ZONE_DEMAND.grace_us
    client = await serve(
        ready_directory([task_of(p, {ZONE_DEMAND: t}, watermark_us=marks_us) for p, t in enumerate(tables)])
    )
    answer = await (await client.get(ROWS, params=QUARTERS | {"zone": "132"})).json()
    both: dict[RowKey, list[Cells]] = {}
    for table in tables:
        for key, cells in by_window(ZONE_DEMAND, table, 3, 1).items():
            both.setdefault(key, []).append(cells)
    keys = [key for key in in_order(list(both)) if key.group == (132,)]
    ends_us = [(key.window_start_us or 0) + 3 * PANE_US for key in keys]
    assert [(row["window"], row["count"], row["state"], row["final"]) for row in answer["data"]] == [
        (
            {"start": to_iso(key.window_start_us or 0), "end": to_iso(end_us)},
            merge_rows(ZONE_DEMAND, both[key])[0],
            "closed" if end_us <= NOON_US + 3 * PANE_US else "open",
            False,
        )
        for key, end_us in zip(keys, ends_us, strict=True)
    ]
    assert {row["state"] for row in answer["data"]} == {"open", "closed"}


async def test_the_highest_of_each_such_window_and_their_csv_are_of_the_same_rows(serve: Serve) -> None:
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132), (1, 7), (2, 7))})]))
    asked = QUARTERS | {"top": "1", "by": "rides"}
    told = (await (await client.get(ROWS, params=asked)).json())["data"]
    assert [row["window"]["start"] for row in told] == [to_iso(NOON_US + at * PANE_US) for at in (-2, -1, 0, 1, 2)]
    written = (await (await client.get(ROWS, params=asked | {"format": "csv"})).text()).splitlines()
    at = [written[0].split(",").index(name) for name in ("window_start", "window_end", "count")]
    assert [[line.split(",")[one] for one in at] for line in written[1:]] == [
        [row["window"]["start"], row["window"]["end"], str(row["count"])] for row in told
    ]


async def test_a_stream_of_changes_tells_all_windows_that_hold_a_pane(serve: Serve) -> None:
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))})]))
    async with events_of(client, "/v1/views/zone_demand/changes?window=15m&step=5m") as stream:
        rows = (await stream.next()).data["rows"]
    assert [to_us(row["window"]["start"]) for row in rows] == [NOON_US + at * PANE_US for at in (-2, -1, 0)]


async def test_a_window_that_has_lost_panes_is_no_answer(serve: Serve) -> None:
    """Behind what has left the tables only windows are answered that begin there, and the history is not asked."""
    task = task_of(0, {ZONE_DEMAND: zone_table((0, 132), (1, 132), (2, 132))})
    left = replace(task.marker.views["zone_demand"], expired_to_us=NOON_US)
    task.marker = replace(task.marker, views=task.marker.views | {"zone_demand": left})
    client = await serve(ready_directory([task]))
    open_to_the_past = await (await client.get(ROWS, params=QUARTERS)).json()
    assert [to_us(row["window"]["start"]) for row in open_to_the_past["data"]] == [
        NOON_US + at * PANE_US for at in range(3)
    ]
    refused = await client.get(ROWS, params=QUARTERS | {"from": to_iso(NOON_US - PANE_US)})
    assert (await refused.json())["type"] == "urn:flagfall:problem:not-in-history"


def test_a_page_is_charged_for_those_windows_alone_that_it_asks_for() -> None:
    """A week that begins every five minutes holds an instant 2,016 times; who asks for twelve pays for these."""
    task = task_of(0, {ZONE_DEMAND: zone_table(*((pane, 132) for pane in range(-100, 100)))})
    week = RowsQuery(ZONE_DEMAND, window_us=2016 * PANE_US, step_us=PANE_US, groups={"zone": (132,)})
    assert reading_of(week, task).folded_rows == 200 * 2016
    assert reading_of(replace(week, from_us=NOON_US, until_us=NOON_US + 12 * PANE_US), task).folded_rows == 100 * 12


def test_a_step_as_long_as_the_window_is_none() -> None:
    assert read_query(ZONE_DEMAND, MultiDict(window="15m", step="15m")) == read_query(
        ZONE_DEMAND, MultiDict(window="15m")
    )


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ({"step": "5m"}, "only with window, of which it says how often one begins"),
        ({"window": "15m", "step": "20m"}, "up to the window, 15m"),
        ({"window": "15m", "step": "7m"}, "a multiple of the pane, 5m"),
        ({"window": "15m", "step": "0m"}, "a multiple of the pane, 5m"),
        ({"window": "366d", "step": "5m"}, "10000 windows at most"),
        ({"last": "15m", "step": "5m"}, "not with last"),
    ],
)
def test_what_is_no_step_is_refused_in_words(pairs: dict[str, str], said: str) -> None:
    with pytest.raises(Problem, match=said):
        read_query(ZONE_DEMAND, MultiDict(pairs))
