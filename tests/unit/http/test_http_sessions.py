"""Sessions over HTTP: those of all tasks together, whole wherever a page begins, as the naive merge has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import MultiDict

from app.domain.measures.kinds import Count, First, Last, Max, Sum
from app.domain.oracle.view_fold import put_merging, together
from app.domain.rows import Cells, RowKey
from app.domain.view import Group, View
from app.domain.windows.instants import to_iso
from app.domain.windows.session import Session
from app.edge.http.query.arrangement import Arrangement
from app.edge.http.query.read_query import read_query
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.answers import whole_page
from app.edge.http.rows.fold_rows import key_at
from app.edge.http.rows.gather import Gathered
from app.edge.http.rows.parts import decode_parts, encode_parts, part_of
from app.rides.ride import RIDES
from tests.support.http import NOON_US, Serve, server_of, url_of
from tests.support.material.stored.tables import in_order, ready_directory, task_of
from tests.support.material.visits import Visits, known

SECOND_US = 1_000_000
GROUPS = (Group("zone", "pickup_zone"), Group("base", "dispatching_base"))
MEASURES = (Count("rides"), Sum("tip", "tip_cents"), Max("latest", "reported_at_us"))
SESSIONS = View(97, "sessions", RIDES, GROUPS, Session("pickup_at_us", 10), MEASURES, 60, 0, "Sessions.")
VISITS = replace(SESSIONS, name="visits", window=Visits("pickup_at_us", 10))
SESSIONS_OF_ZONES = replace(SESSIONS, groups=GROUPS[:1])
VISITS_OF_ZONES = replace(VISITS, groups=GROUPS[:1])

spans = st.tuples(st.integers(-60, 60), st.integers(0, 25), st.none() | st.integers(1, 2), st.sampled_from([None, "B"]))
tasks = st.lists(st.lists(spans, max_size=12), min_size=1, max_size=3)
bound = st.none() | st.integers(-70, 70)
ranges = st.tuples(bound, bound).filter(lambda ends: None in ends or ends[0] <= ends[1])


def cells_of(view: View, last_us: int, count: int) -> Cells:
    """Of a session of so many records."""
    held = dict.fromkeys(view.cells, 0) | {"count": count, "fingerprint": count, "tip": 2 * count}
    held[view.cells[view.last_at]] = last_us
    return tuple(held.values())


def table_of(view: View, drawn: Any) -> dict[RowKey, Cells]:
    """What a task holds: no two of a group touch."""
    rows: dict[RowKey, Cells] = {}
    for number, (start, seconds, zone, base) in enumerate(drawn, 1):
        start_us = NOON_US + start * SECOND_US
        put_merging(view, rows, RowKey(start_us, (zone, base)), cells_of(view, start_us + seconds * SECOND_US, number))
    return rows


def all_pages(query: RowsQuery, tables: Any) -> list[tuple[RowKey, Cells]]:
    """Every row, page after page, of parts that went over the wire."""
    held, seen = [task_of(p, {query.view: table}) for p, table in enumerate(tables)], []
    while True:
        assert read_query(query.view, MultiDict(query.parameters())) == query
        parts = [part_of(ready_directory(held), task, query) for task in held]
        sent = decode_parts(query, encode_parts(parts))
        found = whole_page(query, Gathered({part.partition: part for part in sent}))
        shown = range(min(query.limit, len(found.rows)))
        seen += [(key_at(found.rows, at), tuple(found.rows.cells[at].tolist())) for at in shown]
        if len(found.rows) <= query.limit:
            return seen
        query = replace(query, after=found.key(query, shown[-1]))


@pytest.mark.parametrize("view", [SESSIONS, VISITS], ids=lambda view: view.name)
@given(drawn=tasks, bounds=ranges, limit=st.integers(1, 4), newest=st.booleans())
def test_sessions_of_all_tasks_are_those_of_the_naive_merge(
    *, view: View, drawn: Any, bounds: Any, limit: int, newest: bool
) -> None:
    tables = [table_of(view, of_task) for of_task in drawn]
    from_us, until_us = (None if at is None else NOON_US + at * SECOND_US for at in bounds)
    expected = {
        key: cells
        for key, cells in together(view, tables).items()
        if (from_us is None or (key.window_start_us or 0) >= from_us)
        and (until_us is None or (key.window_start_us or 0) < until_us)
    }
    order = in_order(list(expected))
    with known():
        seen = all_pages(RowsQuery(view, from_us, until_us, limit=limit, newest_first=newest), tables)
    assert seen == [(key, expected[key]) for key in (order[::-1] if newest else order)]


@pytest.mark.parametrize(
    ("view", "coarser"), [(SESSIONS, SESSIONS_OF_ZONES), (VISITS, VISITS_OF_ZONES)], ids=["session", "visits"]
)
@given(drawn=tasks)
def test_sessions_of_fewer_groups_are_those_that_these_groups_have(*, view: View, coarser: View, drawn: Any) -> None:
    """As if the view had had no other group from the first."""
    tables = [table_of(view, of_task) for of_task in drawn]
    expected: dict[RowKey, Cells] = {}
    for table in tables:
        for key, cells in table.items():
            put_merging(coarser, expected, RowKey(key.window_start_us, key.group[:1]), cells)
    with known():
        seen = all_pages(RowsQuery(view, arrangement=Arrangement(("zone",))), tables)
    assert seen == [(key, expected[key]) for key in in_order(list(expected))]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, (SESSIONS,)) as start:
        yield start


async def test_a_session_that_two_workers_hold_parts_of_is_one_and_says_where_it_ends(serve: Serve) -> None:
    def spanning(start: int, seconds: int) -> Any:
        return task_of(start % 2, {SESSIONS: table_of(SESSIONS, [(start, seconds, 7, "B")])}, watermark_us=NOON_US)

    here, there = ready_directory([spanning(0, 8)], partitions=2), ready_directory([spanning(17, 3)], partitions=2)
    first, second = await serve(here), await serve(there)
    here.owners = {0: url_of(first), 1: url_of(second)}
    answer = await (await first.get("/v1/views/sessions/rows?zone=7")).json()
    (session,) = answer["data"]
    assert session["window"] == {"start": to_iso(NOON_US), "end": to_iso(NOON_US + 30 * SECOND_US)}
    assert (session["count"], session["state"]) == (2, "open")
    later = await (await first.get("/v1/views/sessions/rows", params={"from": to_iso(NOON_US + SECOND_US)})).json()
    assert later["data"] == []


async def test_a_session_is_closed_once_no_record_can_lengthen_it(serve: Serve) -> None:
    table, closes_us = table_of(SESSIONS, [(0, 5, 7, None)]), NOON_US + (5 + 10 + 60) * SECOND_US
    for watermark_us, state in ((closes_us - 1, "open"), (closes_us, "closed")):
        client = await serve(ready_directory([task_of(0, {SESSIONS: table}, watermark_us=watermark_us)]))
        (session,) = (await (await client.get("/v1/views/sessions/rows")).json())["data"]
        assert (session["state"], session["final"]) == (state, state == "closed")


async def test_the_page_shows_the_newest_sessions(serve: Serve) -> None:
    drawn = [(-90_000, 5, 1, None), (0, 5, 2, None)]
    client = await serve(ready_directory([task_of(0, {SESSIONS: table_of(SESSIONS, drawn)}, watermark_us=NOON_US)]))
    text = await (await client.get("/")).text()
    assert "Newark" not in text
    assert "Jamaica Bay" in text


@given(bounds=ranges)
def test_no_sessions_are_a_page_without_rows_whatever_is_measured(*, bounds: Any) -> None:
    view = replace(SESSIONS, measures=(First("opened", "tip_cents"), Last("left", "tip_cents")))
    from_us, until_us = (None if at is None else NOON_US + at * SECOND_US for at in bounds)
    assert all_pages(RowsQuery(view, from_us, until_us), [{}, {}]) == []
