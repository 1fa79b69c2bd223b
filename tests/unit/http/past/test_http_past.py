"""Windows that have left the tables: answered from the history, beside those that are there, without gap or overlap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st
from multidict import MultiDict

from app.base.files.history import gold_folder
from app.base.setting_groups import HttpSettings
from app.domain.fingerprint import as_hex
from app.domain.oracle.view_fold import by_window
from app.domain.rows import COUNT_AT, FINGERPRINT_AT
from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.edge.formats.format import Document, Told
from app.edge.http.context import Edge, ServedGroup
from app.edge.http.problems import Problem
from app.edge.http.query.read_query import read_query
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.answered import answered
from app.edge.http.rows.answers import rows_answer
from app.engine.core.task_state import TaskState
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.expiry import left
from tests.support.http import BY_BASE, PANE_US
from tests.support.material.stored.gold import RUN, write_gold
from tests.support.material.stored.places import STARTS, Places, ended, near, start_us_of, table_at
from tests.support.material.stored.runs import verdicts_in
from tests.support.material.stored.tables import in_order, merge_tables, ready_directory
from tests.support.material.views import DAYS, HOPPING, SHIFTED, UNEVEN

VIEWS = {view.name: view for view in (ZONE_DEMAND, BY_BASE, DAYS, HOPPING, SHIFTED, UNEVEN)}
PLACES = st.lists(st.tuples(st.integers(0, STARTS - 1), st.none() | st.integers(1, 3)), max_size=15)


@given(
    name=st.sampled_from(sorted(VIEWS)),
    places=st.tuples(PLACES, PLACES),
    expired=st.tuples(st.integers(-1, STARTS), st.none() | st.integers(-1, STARTS)),
    bounds=st.tuples(st.none() | st.integers(-1, STARTS), st.none() | st.integers(0, STARTS + 1)),
    folded=st.integers(1, 3),
    limit=st.integers(1, 5),
    newest=st.booleans(),
)
async def test_all_pages_together_hold_each_window_once_and_whole(
    *,
    name: str,
    places: tuple[Places, Places],
    expired: tuple[int, int | None],
    bounds: tuple[int | None, int | None],
    folded: int,
    limit: int,
    newest: bool,
) -> None:
    view = VIEWS[name]
    tables = [table_at(view, some, seed) for seed, some in enumerate(places)]
    expired_us = [None if nth is None else near(view, nth) for nth in expired]
    from_us, until_us = (None if nth is None else near(view, nth) for nth in bounds)
    panes = view.window.panes
    times = folded if view in (ZONE_DEMAND, BY_BASE) else 1
    window_us = None if panes is None else panes.size_us * times
    windows = [by_window(view, table) for table in tables]
    left_us = max(view.window.ended_below(at) for at in expired_us if at is not None)
    first_us = left_us if from_us is None else from_us
    if from_us is None and until_us is not None and until_us <= left_us:
        return  # refused: see below
    wanted = {
        key: cells
        for key, cells in merge_tables(view, windows, window_us if times > 1 else 1).items()
        if start_us_of(key) >= first_us and (until_us is None or start_us_of(key) < until_us)
    }
    query = RowsQuery(view, from_us, until_us, window_us=window_us, limit=limit, newest_first=newest)
    with TemporaryDirectory() as folder:
        final_us = max(at for at in expired_us if at is not None)
        write_gold(Path(folder), view, ended(view, tables, final_us), final_us)
        tasks = [
            left(view, table, to_us, partition)
            for partition, (table, to_us) in enumerate(zip(tables, expired_us, strict=True))
        ]
        found = [row async for row in _all_pages(_edge(view, tasks, Path(folder)), query)]
    keys = in_order(list(wanted))
    names = [group.name for group in view.groups]
    assert [
        (row["window"]["start"], [row["group"][name] for name in names], row["count"], row["fingerprint"])
        for row in found
    ] == [
        (to_iso(start_us_of(key)), [*key.group], wanted[key][COUNT_AT], as_hex(wanted[key][FINGERPRINT_AT]))
        for key in (keys[::-1] if newest else keys)
    ]


async def test_what_each_row_was_had_from_is_told(tmp_path: Path) -> None:
    table = table_at(ZONE_DEMAND, [(nth, 7) for nth in range(4)], 1)
    left_us = near(ZONE_DEMAND, 2)
    write_gold(tmp_path, ZONE_DEMAND, ended(ZONE_DEMAND, [table], left_us), left_us)
    edge = _edge(ZONE_DEMAND, [left(ZONE_DEMAND, table, left_us)], tmp_path)
    query = _from(0)
    rows, meta = await _page(edge, query)
    assert [row["source"] for row in rows] == ["batch", "batch", "live", "live"]
    assert meta["left_before"] == to_iso(left_us)
    assert meta["history"] == {"run": RUN, "final_to": to_iso(left_us)}
    folded, _ = await _page(edge, replace(query, window_us=3 * PANE_US))
    assert [row["source"] for row in folded] == ["mixed", "live"]
    of_tables, meta = await _page(edge, replace(query, from_us=left_us))
    assert ([row["source"] for row in of_tables], meta["history"]) == (["live", "live"], None)


async def test_windows_that_have_left_one_task_are_not_told_of_what_others_have(
    tmp_path: Path,
) -> None:
    tables = [table_at(ZONE_DEMAND, [(nth, 7) for nth in range(6)], seed) for seed in range(2)]
    ahead_us = near(ZONE_DEMAND, 3)
    tasks = [
        left(ZONE_DEMAND, table, to_us, p)
        for p, (table, to_us) in enumerate(zip(tables, (None, ahead_us), strict=True))
    ]
    edge, whole = _edge(ZONE_DEMAND, tasks, None), merge_tables(ZONE_DEMAND, tables, 1)
    asked = RowsQuery(ZONE_DEMAND, window_us=PANE_US)
    for query in (asked, replace(asked, limit=2), replace(asked, newest_first=True)):
        rows = [row async for row in _all_pages(edge, query)]
        starts = sorted(to_iso(start_us_of(key)) for key in whole)[3:]
        assert [row["window"]["start"] for row in rows] == (starts[::-1] if query.newest_first else starts)
        assert {row["fingerprint"] for row in rows} <= {as_hex(cells[FINGERPRINT_AT]) for cells in whole.values()}
    folded, _ = await _page(edge, replace(asked, window_us=2 * PANE_US))
    assert [row["window"]["start"] for row in folded] == [to_iso(near(ZONE_DEMAND, 4))]
    with pytest.raises(Problem, match="names no first one") as told:
        await _page(edge, replace(asked, until_us=ahead_us))
    assert told.value.slug == "not-in-history"


async def test_a_query_that_names_no_first_window_is_answered_by_the_tables(tmp_path: Path) -> None:
    table = table_at(ZONE_DEMAND, [(nth, 7) for nth in range(4)], 1)
    edge = _edge(ZONE_DEMAND, [left(ZONE_DEMAND, table, near(ZONE_DEMAND, 2))], tmp_path)
    rows, meta = await _page(edge, RowsQuery(ZONE_DEMAND))
    assert ([row["source"] for row in rows], meta["history"]) == (["live", "live"], None)


@pytest.mark.parametrize(
    ("held", "history", "said"),
    [
        (None, "history", "the history has nothing of it yet"),
        (1, "history", "the history has so far what begins before"),
        (None, None, "no history is kept"),
    ],
)
async def test_windows_that_neither_has_are_refused_and_never_zero(
    tmp_path: Path, held: int | None, history: str | None, said: str
) -> None:
    folder = None if history is None else tmp_path
    table = table_at(ZONE_DEMAND, [(nth, 7) for nth in range(4)], 1)
    if held is not None:
        write_gold(tmp_path, ZONE_DEMAND, {}, near(ZONE_DEMAND, held))
    edge = _edge(ZONE_DEMAND, [left(ZONE_DEMAND, table, near(ZONE_DEMAND, 2))], folder)
    with pytest.raises(Problem, match=f"have left the tables, and {said}") as told:
        await _page(edge, _from(0))
    assert told.value.slug == "not-in-history"


@pytest.mark.parametrize("harm", ["a file is gone", "a file is damaged", "the log is damaged"])
async def test_a_history_that_is_damaged_is_told_with_its_folder_and_what_to_do(tmp_path: Path, harm: str) -> None:
    table = table_at(ZONE_DEMAND, [(nth, 7) for nth in range(4)], 1)
    left_us = near(ZONE_DEMAND, 4)
    write_gold(tmp_path, ZONE_DEMAND, ended(ZONE_DEMAND, [table], left_us), left_us)
    folder = gold_folder(tmp_path, ZONE_DEMAND)
    for file in folder.rglob("*.json" if harm == "the log is damaged" else "*.parquet"):
        if harm == "a file is gone":
            file.unlink()
        else:
            file.write_bytes(b"harm")
    edge = _edge(ZONE_DEMAND, [left(ZONE_DEMAND, table, left_us)], tmp_path)
    with pytest.raises(
        Problem, match=rf"{folder} cannot be read: .*Move it away: the next `flagfall reconcile`"
    ) as told:
        await _page(edge, _from(0))
    assert told.value.slug == "history-unreadable"


async def test_what_is_asked_of_the_history_is_bounded(tmp_path: Path) -> None:
    table = table_at(ZONE_DEMAND, [(nth, 7) for nth in range(4)], 1)
    left_us = near(ZONE_DEMAND, 4)
    write_gold(tmp_path, ZONE_DEMAND, ended(ZONE_DEMAND, [table], left_us), left_us)
    limits = HttpSettings(max_rows=3)
    edge = _edge(ZONE_DEMAND, [left(ZONE_DEMAND, table, left_us)], tmp_path, limits)
    with pytest.raises(Problem) as told:
        await _page(edge, _from(0))
    assert told.value.slug == "too-much"


async def test_other_programs_may_write_to_a_table_in_between(tmp_path: Path) -> None:
    table = table_at(ZONE_DEMAND, [(0, 7), (1, None)], 1)
    left_us = near(ZONE_DEMAND, 2)
    write_gold(tmp_path, ZONE_DEMAND, ended(ZONE_DEMAND, [table], left_us), left_us)
    DeltaTable(gold_folder(tmp_path, ZONE_DEMAND)).optimize.compact()
    edge = _edge(ZONE_DEMAND, [left(ZONE_DEMAND, table, left_us)], tmp_path)
    rows, _ = await _page(edge, _from(0))
    assert [row["group"]["zone"] for row in rows] == [7, None]


def _from(nth: int) -> RowsQuery:
    """All panes from the nth on."""
    return RowsQuery(ZONE_DEMAND, near(ZONE_DEMAND, nth), window_us=PANE_US)


def _edge(view: View, tasks: Sequence[TaskState], history: Path | None, limits: HttpSettings | None = None) -> Edge:
    group = ServedGroup("rides", ready_directory(tasks), (view,), (RIDES,))
    return Edge([group], verdicts_in(Path()), limits=limits, history=history)


async def _all_pages(edge: Edge, query: RowsQuery) -> AsyncIterator[Document]:
    while True:
        rows, meta = await _page(edge, query)
        for row in rows:
            yield row
        if meta["next_cursor"] is None:
            return
        query = read_query(query.view, MultiDict({**dict(query.parameters()), "cursor": meta["next_cursor"]}))


async def _page(edge: Edge, query: RowsQuery) -> tuple[list[Document], Document]:
    return await rows_answer(edge, await answered(edge, query), _read)


def _read(told: Told) -> tuple[list[Document], Document]:
    rows = list(told.rows)
    assert told.table()["source"].to_pylist() == [row["source"] for row in rows]
    return rows, told.meta
