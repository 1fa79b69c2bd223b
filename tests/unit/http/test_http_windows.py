"""Rows of hopping, calendar and shifted windows over HTTP, and the last N of panes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import MultiDict

from app.domain.oracle.view_fold import by_window
from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.edge.http.context import Edge, ServedGroup
from app.edge.http.problems import Problem
from app.edge.http.query.instants import to_us
from app.edge.http.query.read_query import read_query
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows import own_parts
from app.edge.http.rows.fold_rows import key_at
from app.edge.http.rows.page_rows import reading_of
from app.edge.http.rows.parts import encode_parts, part_of
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, Serve, server_of, zone_table
from tests.support.material.stored.runs import verdicts_in
from tests.support.material.stored.tables import cells_of, in_order, ready_directory, task_of
from tests.support.material.views import DAYS, HOPPING, SHIFTED, UNEVEN

VIEWS = (ZONE_DEMAND, BY_BASE, DAYS, HOPPING, SHIFTED, UNEVEN)
MINUTE_US = 60_000_000


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, VIEWS) as start:
        yield start


def table_of(view: View, drawn: list[tuple[int, int, int | None]]) -> dict[RowKey, Cells]:
    """Panes so many minutes after noon, counted from the nth of their windows on."""
    overlap = view.window.overlap
    assert overlap is not None
    table = {}
    for seed, (minutes, nth, zone) in enumerate(drawn):
        pane_us = overlap.pane_start(NOON_US + minutes * MINUTE_US)
        first_us = min(overlap.first_ending_after(pane_us) + nth * overlap.step_us, overlap.last_window(pane_us))
        table[RowKey(pane_us, (first_us, zone, "1")[: len(view.stored_groups)])] = cells_of(view, seed)
    return table


@given(
    view=st.sampled_from([HOPPING, UNEVEN]),
    drawn=st.lists(st.tuples(st.integers(-90, 400), st.integers(0, 3), st.none() | st.integers(1, 3)), max_size=40),
    bounds=st.tuples(*[st.none() | st.integers(-60, 400)] * 3),
    limit=st.integers(1, 5),
    newest=st.booleans(),
)
def test_all_pages_together_hold_each_window_once_and_whole(
    *, view: View, drawn: Any, bounds: tuple[int | None, ...], limit: int, newest: bool
) -> None:
    table = table_of(view, drawn)
    from_us, until_us, expired_us = (None if at is None else NOON_US + at * MINUTE_US for at in bounds)
    task = task_of(0, {view: table})
    position = replace(task.marker.views[view.name], expired_to_us=expired_us)
    task.marker = replace(task.marker, views={view.name: position})
    wanted = {
        key: cells
        for key, cells in by_window(view, table).items()
        if (from_us is None or (key.window_start_us or 0) >= from_us)
        and (until_us is None or (key.window_start_us or 0) < until_us)
        and (expired_us is None or view.window.window_end(key.window_start_us or 0) > expired_us)
    }
    query, seen = RowsQuery(view, from_us, until_us, limit=limit, newest_first=newest), []
    while True:
        rows = part_of(ready_directory([task]), task, query).rows
        assert len(rows) <= limit + 1
        seen += [(key_at(rows, at), tuple(rows.cells[at].tolist())) for at in range(min(limit, len(rows)))]
        if len(rows) <= limit:
            break
        query = replace(query, after=seen[-1][0])
    keys = in_order(list(wanted))
    assert seen == [(key, wanted[key]) for key in (keys[::-1] if newest else keys)]


async def test_a_page_that_takes_more_panes_than_most_is_whole_when_it_is_made_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_parts, "MANY_ROWS", 0)
    task = task_of(0, {HOPPING: table_of(HOPPING, [(15 * (at // 4), at % 4, 132) for at in range(120)])})
    position = replace(task.marker.views["hopping"], expired_to_us=NOON_US + 240 * MINUTE_US)
    task.marker = replace(task.marker, views={"hopping": position})
    directory, query = ready_directory([task]), RowsQuery(HOPPING, limit=2)
    reading = reading_of(query, task)
    assert reading.fold(task.views["hopping"].rows_at(reading.slots)) is None
    edge = Edge([ServedGroup("rides", directory, (HOPPING,), (RIDES,))], verdicts_in(tmp_path))
    given_parts = await own_parts.own_parts(edge, query, [0])
    assert encode_parts(given_parts) == encode_parts([part_of(directory, task, query)])
    assert len(given_parts[0].rows) == 3


async def test_a_hopping_view_answers_by_window_merged_over_tasks(serve: Serve) -> None:
    tables = [table_of(HOPPING, [(0, 0, 132), (20, 3, 132)]), table_of(HOPPING, [(5, 1, 132)])]
    tasks = [task_of(p, {HOPPING: t}, watermark_us=NOON_US + 40 * MINUTE_US) for p, t in enumerate(tables)]
    client = await serve(ready_directory(tasks))
    answer = await (await client.get("/v1/views/hopping/rows", params={"zone": "132"})).json()
    expected: dict[RowKey, list[Cells]] = {}
    for table in tables:
        for key, cells in by_window(HOPPING, table).items():
            expected.setdefault(key, []).append(cells)
    assert [(row["window"]["start"], row["window"]["end"], row["count"], row["final"]) for row in answer["data"]] == [
        (
            to_iso(key.window_start_us or 0),
            to_iso(end_us := HOPPING.window.window_end(key.window_start_us or 0)),
            merge_rows(HOPPING, expected[key])[0],
            end_us + HOPPING.grace_us <= NOON_US + 40 * MINUTE_US,
        )
        for key in in_order(list(expected))
    ]
    assert {row["final"] for row in answer["data"]} == {True, False}
    assert all(set(row["group"]) == {"zone", "zone_name", "zone_borough", "vendor"} for row in answer["data"])


async def test_a_day_is_told_with_its_own_end(serve: Serve) -> None:
    start_us = DAYS.window.boundaries.start(1_772_960_000_000_000)  # 2026-03-08: clocks go forward
    table = {RowKey(start_us, (132, "1")): cells_of(DAYS, 1)}
    client = await serve(ready_directory([task_of(0, {DAYS: table})]))
    (row,) = (await (await client.get("/v1/views/days/rows")).json())["data"]
    assert row["window"] == {"start": "2026-03-08T05:00:00Z", "end": "2026-03-09T04:00:00Z"}
    none = await client.get("/v1/views/days/rows", params={"to": "2026-03-08T05:00:00Z"})
    assert (await none.json())["data"] == []


async def test_panes_with_an_offset_are_folded_from_it(serve: Serve) -> None:
    first_us = SHIFTED.window.start(NOON_US)  # type: ignore[union-attr]
    table = {RowKey(first_us + n * 3_600_000_000, (n, "1")): cells_of(SHIFTED, n) for n in range(4)}
    client = await serve(ready_directory([task_of(0, {SHIFTED: table})]))
    answer = await (await client.get("/v1/views/shifted/rows", params={"window": "2h"})).json()
    starts_us = {to_us(row["window"]["start"]) for row in answer["data"]}
    assert {start_us % 7_200_000_000 for start_us in starts_us} == {1_234_000_000}
    assert len(answer["data"]) == 4


async def test_the_last_quarter_of_an_hour_ends_at_the_last_pane_that_all_have_passed(serve: Serve) -> None:
    tables = [zone_table((-4, 132), (-3, 132), (-1, 132), (0, 132)), zone_table((-2, 132), (-1, 7), seed=50)]
    marks = (NOON_US + 3 * PANE_US, NOON_US + PANE_US - 1)
    tasks = [task_of(p, {ZONE_DEMAND: t}, watermark_us=marks[p]) for p, t in enumerate(tables)]
    client = await serve(ready_directory(tasks))
    answer = await (await client.get("/v1/views/zone_demand/rows", params={"last": "15m"})).json()
    assert answer["meta"]["as_of"] == to_iso(marks[1])
    window = {"start": to_iso(NOON_US - 3 * PANE_US), "end": to_iso(NOON_US)}
    assert [(row["group"]["zone"], row["window"], row["final"]) for row in answer["data"]] == [
        (7, window, False),
        (132, window, False),
    ]
    panes = [tables[0][RowKey(NOON_US + n * PANE_US, (132,))] for n in (-3, -1)]
    panes.append(tables[1][RowKey(NOON_US - 2 * PANE_US, (132,))])
    assert answer["data"][1]["count"] == merge_rows(ZONE_DEMAND, panes)[0]
    first = await (await client.get("/v1/views/zone_demand/rows", params={"last": "15m", "limit": "1"})).json()
    again = {"last": "15m", "limit": "1", "to": first["data"][0]["window"]["end"]}
    second = await client.get("/v1/views/zone_demand/rows", params={**again, "cursor": first["meta"]["next_cursor"]})
    assert first["data"] + (await second.json())["data"] == answer["data"]


async def test_the_last_of_what_there_is_ends_where_those_tasks_are(serve: Serve) -> None:
    """Who allows an answer without some tasks is not answered with nothing because of them."""
    tables, marks_us = [zone_table((-1, 132), (0, 132)), zone_table((-1, 7))], (NOON_US + 1, NOON_US + 2 * PANE_US)
    tasks = [task_of(p, {ZONE_DEMAND: t}, watermark_us=marks_us[p]) for p, t in enumerate(tables)]
    client = await serve(ready_directory(tasks, partitions=3))
    asked = {"last": "15m", "partial": "allow"}
    answer = await (await client.get("/v1/views/zone_demand/rows", params=asked)).json()
    assert (answer["meta"]["as_of"], answer["meta"]["partial"]) == (to_iso(marks_us[0]), True)
    assert [missing["partition"] for missing in answer["meta"]["missing"]] == [2]
    window = {"start": to_iso(NOON_US - 3 * PANE_US), "end": to_iso(NOON_US)}
    told = [(row["group"]["zone"], row["window"], row["state"]) for row in answer["data"]]
    assert told == [(7, window, "open"), (132, window, "open")]
    assert (await client.get("/v1/views/zone_demand/rows", params={"last": "15m"})).status == 503


async def test_without_a_common_watermark_the_last_of_it_is_nothing(serve: Serve) -> None:
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 1))}, watermark_us=-(1 << 63))]))
    answer = await (await client.get("/v1/views/zone_demand/rows", params={"last": "15m"})).json()
    assert (answer["data"], answer["meta"]["as_of"]) == ([], None)


@pytest.mark.parametrize(
    ("view", "pairs", "said"),
    [
        (ZONE_DEMAND, {"last": "7m"}, "a multiple of the pane, 5m"),
        (ZONE_DEMAND, {"last": "soon"}, "a multiple of the pane, 5m"),
        (ZONE_DEMAND, {"last": "15m", "window": "5m"}, "not with last"),
        (ZONE_DEMAND, {"last": "15m", "from": "2024-01-31T12:00:00Z"}, "not with last"),
        (ZONE_DEMAND, {"last": "15m", "cursor": "abc"}, "with last, give `to` as well"),
        (HOPPING, {"last": "15m"}, "hopping has no panes of one length to fold; it takes "),
        (DAYS, {"window": "2d"}, "days has no panes of one length to fold; it takes "),
    ],
)
def test_what_cannot_be_folded_is_refused_in_words(view: View, pairs: dict[str, str], said: str) -> None:
    with pytest.raises(Problem, match=said):
        read_query(view, MultiDict(pairs))


@given(panes=st.integers(1, 50), at=st.integers(0, 10**9), view=st.sampled_from([ZONE_DEMAND, SHIFTED]))
def test_a_query_over_the_last_panes_travels_between_workers(panes: int, at: int, view: View) -> None:
    pane_us = view.window.size_us  # type: ignore[union-attr]
    query = RowsQuery(view, window_us=panes * pane_us, last_us=panes * pane_us).until(NOON_US + at)
    assert read_query(view, MultiDict(query.parameters())) == query
    assert query.until_us is not None
    assert NOON_US + at - pane_us < query.until_us <= NOON_US + at


@pytest.mark.parametrize("address", [f"/v1/views/{HOPPING.name}/rows", f"/v1/views/{HOPPING.name}/changes", "/v1/sql"])
async def test_an_end_before_the_beginning_is_refused_and_no_empty_answer(serve: Serve, address: str) -> None:
    client = await serve(ready_directory([task_of(0, {HOPPING: {}})]))
    asked = {"from": to_iso(NOON_US), "to": to_iso(NOON_US - 1)}
    if address == "/v1/sql":
        answer = await client.post(address, json={"sql": f"FROM {HOPPING.name}", **asked})
    else:
        answer = await client.get(address, params=asked)
    problem = await answer.json(content_type=None)
    assert (answer.status, problem["parameter"], problem["allowed"]) == (400, "to", f"not before from, {asked['from']}")
