"""Rows that are ranked, and rows of some groups alone: as the naive merge and a plain sort have them, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import MultiDict

from app.domain.figures.kinds import Mean
from app.domain.measures.kinds import Count, First, Histogram, Max, Sum
from app.domain.rows import COUNT_AT, Cells, RowKey, merge_rows
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.instants import to_iso
from app.domain.windows.tumbling import Tumbling
from app.edge.http.query.arrangement import Among, Arrangement, Ranking, among_which, ranking_names
from app.edge.http.query.read_query import read_query
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.answers import whole_page
from app.edge.http.rows.fold_rows import key_at
from app.edge.http.rows.gather import Gathered
from app.edge.http.rows.parts import decode_parts, encode_parts, part_of
from app.rides.ride import RIDES
from tests.support.http import NOON_US, PANE_US, Serve, server_of, url_of
from tests.support.material.stored.tables import in_order, merge_tables, ready_directory, task_of
from tests.support.material.views import UNEVEN

GROUPS = (Group("base", "dispatching_base"), Group("zone", "pickup_zone"))
MEASURES = (
    Count("rides"),
    Sum("tip", "tip_cents"),
    Max("latest", "reported_at_us"),
    Max("dearest", "fare_cents"),
    First("first", "duration_us"),
    Histogram("lengths", "duration_us", (0, 10)),
)
FIGURES = (Mean("mean_tip", "tip"),)
PANED = View(95, "paned", RIDES, GROUPS, Tumbling("pickup_at_us", 300), MEASURES, 3600, 0, "By pane.", figures=FIGURES)
EVER = View(96, "ever", RIDES, GROUPS, AllTime(), MEASURES, 0, 0, "Without a window.", figures=FIGURES)
SIZE = len(PANED.cells)

bases, zones = st.sampled_from([None, "", "B1", "ä"]), st.sampled_from([None, 1, 2])
tables = st.lists(
    st.dictionaries(
        st.tuples(st.integers(-2, 3), bases, zones),
        st.tuples(*[st.integers(0, 3)] * SIZE),
        max_size=10,
    ),
    min_size=1,
    max_size=3,
)
kept = st.sampled_from([None, (), ("base",), ("zone",)])


def tasks_of(view: View, drawn: Any) -> list[dict[RowKey, Cells]]:
    """Rows of each task, few keys and small values, so that they meet."""

    def key(pane: int, base: Any, zone: Any) -> RowKey:
        return RowKey(NOON_US + pane * PANE_US if view.window.ends else None, (base, zone))

    return [{key(*at): cells for at, cells in table.items()} for table in drawn]


def naive(view: View, tasks: Any, names: Any, window_us: int | None) -> dict[RowKey, Cells]:
    """Rows under the groups that are kept."""
    gathered: dict[RowKey, list[Cells]] = {}
    for key, cells in merge_tables(view, tasks, window_us).items():
        held = [v for g, v in zip(view.groups, key.group, strict=True) if names is None or g.name in names]
        gathered.setdefault(RowKey(key.window_start_us, tuple(held)), []).append(cells)
    return {key: merge_rows(view, rows) for key, rows in gathered.items()}


def asked(query: RowsQuery, view: View, tasks: Any) -> Any:
    """The page as it comes together: of parts that went over the wire."""
    held = [task_of(partition, {view: table}) for partition, table in enumerate(tasks)]
    parts = [part_of(ready_directory(held), task, query) for task in held]
    sent = decode_parts(query, encode_parts(parts))
    return whole_page(query, Gathered({part.partition: part for part in sent}))


def all_pages(query: RowsQuery, view: View, tasks: Any) -> list[tuple[Any, RowKey, Cells]]:
    """Rank, key and cells of every row, page after page, each asked for as a caller would."""
    seen: list[tuple[Any, RowKey, Cells]] = []
    while True:
        assert read_query(view, MultiDict(query.parameters())) == query
        found = asked(query, view, tasks)
        shown = min(query.limit, len(found.rows))
        ranks = found.ranks or [None] * shown
        seen += [(ranks[at], key_at(found.rows, at), tuple(found.rows.cells[at].tolist())) for at in range(shown)]
        if len(found.rows) <= query.limit:
            return seen
        cursor = query.cursor_after(found.key(query, shown - 1))
        parameters = [(n, v) for n, v in query.parameters() if n != "cursor"]
        query = read_query(view, MultiDict([*parameters, ("cursor", cursor)]))


@pytest.mark.parametrize("view", [PANED, EVER], ids=lambda view: view.name)
@given(drawn=tables, names=kept, panes=st.integers(1, 3), limit=st.integers(1, 4), newest=st.booleans())
def test_groups_that_are_not_kept_are_merged(
    *, view: View, drawn: Any, names: Any, panes: int, limit: int, newest: bool
) -> None:
    tasks, window_us = tasks_of(view, drawn), panes * PANE_US if view.window.panes else None
    query = RowsQuery(view, None, None, window_us, {}, limit, newest, arrangement=Arrangement(names))
    expected = naive(view, tasks, names, window_us)
    order = in_order(list(expected))
    seen = all_pages(query, view, tasks)
    assert [key for _, key, _ in seen] == (order[::-1] if newest else order)
    assert {key: cells for _, key, cells in seen} == expected


@pytest.mark.parametrize("view", [PANED, EVER], ids=lambda view: view.name)
@given(
    drawn=tables,
    names=kept,
    ranking=st.builds(Ranking, st.integers(1, 4), st.sampled_from(ranking_names(PANED)), st.sampled_from(Among)),
    limit=st.integers(1, 4),
    newest=st.booleans(),
)
def test_ranks_are_those_of_a_plain_sort(
    *, view: View, drawn: Any, names: Any, ranking: Ranking, limit: int, newest: bool
) -> None:
    if ranking.among not in among_which(view):
        ranking = replace(ranking, among=Among.ALL)
    newest = newest and ranking.among is Among.WINDOW
    tasks, window_us = tasks_of(view, drawn), PANE_US if view.window.panes else None
    query = RowsQuery(view, None, None, window_us, {}, limit, newest, arrangement=Arrangement(names, ranking))
    rows = naive(view, tasks, names, window_us)

    def height(key: RowKey) -> tuple[Any, ...]:
        cells, shown = rows[key], view.present(rows[key])
        value = ({"count": cells[COUNT_AT]} | shown | view.figured(shown, cells[COUNT_AT]))[ranking.by]
        return (value is None, -(value or 0), -cells[COUNT_AT], -cells[view.cells.index("latest")])

    def together(key: RowKey) -> Any:
        """What rows are ranked among, as the runs come."""
        if ranking.among is Among.WINDOW:
            return -(key.window_start_us or 0) if newest else key.window_start_us
        return [(value is not None, value) for value in key.group] if ranking.among is Among.GROUP else 0

    ordered = sorted(sorted(in_order(list(rows)), key=height), key=together)
    runs = [list(run) for _, run in groupby(ordered, key=together)]
    expected = [(rank, key, rows[key]) for run in runs for rank, key in enumerate(run[: ranking.top], 1)]
    assert all_pages(query, view, tasks) == expected


@given(
    drawn=st.lists(st.tuples(st.integers(-90, 90), st.none() | st.integers(1, 3), st.integers(1, 9)), max_size=30),
    top=st.integers(1, 3),
)
def test_windows_that_overlap_are_ranked_whole(drawn: Any, top: int) -> None:
    overlap = UNEVEN.window.overlap
    assert overlap is not None
    table: dict[RowKey, Cells] = {}
    for minutes, zone, count in drawn:
        pane_us = overlap.pane_start(NOON_US + minutes * 60_000_000)
        key = RowKey(pane_us, (overlap.first_ending_after(pane_us), zone, "1")[: len(UNEVEN.stored_groups)])
        table[key] = (count, *UNEVEN.neutral[1:])
    everything = all_pages(RowsQuery(UNEVEN, limit=1000), UNEVEN, [table])
    ranked = all_pages(RowsQuery(UNEVEN, arrangement=Arrangement(ranking=Ranking(top, "count"))), UNEVEN, [table])
    by_window: dict[Any, list[Any]] = {}
    for _, key, cells in everything:
        by_window.setdefault(key.window_start_us, []).append((-cells[COUNT_AT], key, cells))
    expected = [
        (rank, key, cells)
        for rows in by_window.values()
        for rank, (_, key, cells) in enumerate(sorted(rows, key=lambda row: row[0])[:top], 1)
    ]
    assert ranked == expected


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, (PANED, EVER)) as start:
        yield start


def row(pane: int, base: str, zone: int, rides: int, tip: int) -> tuple[RowKey, Cells]:
    cells = dict.fromkeys(PANED.cells, 0) | {"count": rides, "tip": tip, "tip_values": rides}
    return RowKey(NOON_US + pane * PANE_US, (base, zone)), tuple(cells.values())


async def test_two_workers_rank_what_neither_of_them_has_alone(serve: Serve) -> None:
    """Zone 7 is second with both workers, and first with them together."""
    here = ready_directory([task_of(0, {PANED: dict([row(0, "a", 5, 9, 1), row(0, "b", 7, 8, 80)])})], partitions=2)
    there = ready_directory([task_of(1, {PANED: dict([row(0, "a", 6, 9, 1), row(0, "b", 7, 8, 80)])})], partitions=2)
    first, second = await serve(here), await serve(there)
    here.owners = {0: url_of(first), 1: url_of(second)}
    address = "/v1/views/paned/rows?group_by=zone&top=2&by=rides&measures=rides&measures=mean_tip"
    answer = await (await first.get(address)).json()
    (best, next_best) = answer["data"]
    assert (best["rank"], best["group"]["zone"], best["measures"], best["figures"]) == (
        1, 7, {"rides": 16}, {"mean_tip": 10.0},
    )  # fmt: skip
    assert (next_best["rank"], next_best["group"]["zone"], next_best["final"]) == (2, 5, False)
    assert best["group"].keys() == {"zone", "zone_name", "zone_borough"}


async def test_the_best_window_of_all_is_found(serve: Serve) -> None:
    rows = dict([row(0, "a", 1, 5, 40), row(1, "a", 1, 5, 60), row(1, "b", 2, 5, 10), row(2, "a", 1, 5, 69)])
    client = await serve(ready_directory([task_of(0, {PANED: rows})]))
    answer = await (await client.get("/v1/views/paned/rows?group_by=none&top=1&by=tip&among=all")).json()
    (best,) = answer["data"]
    assert (best["window"]["start"], best["group"], best["measures"]["tip"]) == (to_iso(NOON_US + PANE_US), {}, 70)


async def test_the_best_window_of_each_group_is_found(serve: Serve) -> None:
    rows = dict([row(0, "a", 1, 5, 40), row(1, "a", 1, 5, 60), row(1, "b", 2, 5, 10), row(2, "a", 2, 5, 9)])
    client = await serve(ready_directory([task_of(0, {PANED: rows})]))
    address = "/v1/views/paned/rows?group_by=zone&top=1&by=tip&among=group&limit=1"
    first = await (await client.get(address)).json()
    second = await (await client.get(f"{address}&cursor={first['meta']['next_cursor']}")).json()
    best = [told for answer in (first, second) for told in answer["data"]]
    assert [(told["group"]["zone"], told["measures"]["tip"]) for told in best] == [(1, 60), (2, 10)]
    assert second["meta"]["next_cursor"] is None


async def test_without_a_value_rows_are_ranked_by_their_records(serve: Serve) -> None:
    rows = dict([row(0, "a", 1, 5, 40), row(0, "a", 2, 7, 1)])
    client = await serve(ready_directory([task_of(0, {PANED: rows})]))
    answer = await (await client.get("/v1/views/paned/rows?top=1")).json()
    assert [told["count"] for told in answer["data"]] == [7]


@pytest.mark.parametrize(
    ("text", "parameter", "why"),
    [
        ("by=tip", "by", "only with top"),
        ("among=all", "among", "only with top"),
        ("top=0&by=tip", "top", "1 to 1000"),
        ("top=1&by=lengths", "by", "one of count"),
        ("top=1&by=tip&among=both", "among", "one of window, all, group"),
        ("top=1&by=tip&among=all&order=asc", "order", "not with among=all"),
        ("group_by=vendor", "group_by", "one of base, zone, none"),
        ("group_by=none&group_by=zone", "group_by", "none alone"),
        ("measures=fare", "measures", "one of rides, tip"),
    ],
)
async def test_what_cannot_be_arranged_is_refused_in_words(serve: Serve, text: str, parameter: str, why: str) -> None:
    client = await serve(ready_directory([task_of(0, {PANED: {}})]))
    answer = await client.get(f"/v1/views/paned/rows?{text}")
    told = await answer.json()
    assert (answer.status, told["parameter"]) == (400, parameter)
    assert why in told["allowed"]
