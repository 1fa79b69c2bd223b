"""Windows that have left the tables: answered from the history, beside those that are there, without gap or overlap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
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
from app.domain.records import as_integer
from app.domain.rows import COUNT_AT, FINGERPRINT_AT, RowKey
from app.domain.view import View
from app.edge.formats.format import Document, Told
from app.edge.http.context import Edge, ServedGroup
from app.edge.http.problems import Problem
from app.edge.http.query.instants import to_iso
from app.edge.http.query.read_query import read_query
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.answered import answered
from app.edge.http.rows.answers import rows_answer
from app.engine.core.task_state import TaskState
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.expiry import left
from tests.support.http import BY_BASE, NOON_US, PANE_US
from tests.support.material.stored.gold import RUN, write_gold
from tests.support.material.stored.runs import verdicts_in
from tests.support.material.stored.tables import TableRows, cells_of, in_order, merge_tables, ready_directory
from tests.support.material.views import DAYS, HOPPING, SHIFTED, UNEVEN

VIEWS = {view.name: view for view in (ZONE_DEMAND, BY_BASE, DAYS, HOPPING, SHIFTED, UNEVEN)}
STARTS = 12

Places = list[tuple[int, int | None]]
"""Which of a view's stored starts, and a number that its groups are made of."""
PLACES = st.lists(st.tuples(st.integers(0, STARTS - 1), st.none() | st.integers(1, 3)), max_size=15)


@given(
    name=st.sampled_from(sorted(VIEWS)),
    places=st.tuples(PLACES, PLACES),
    expired=st.tuples(st.integers(-1, STARTS), st.none() | st.integers(-1, STARTS)),
    bounds=st.tuples(st.integers(-1, STARTS), st.none() | st.integers(0, STARTS + 1)),
    folded=st.integers(1, 3),
    limit=st.integers(1, 5),
    newest=st.booleans(),
)
async def test_all_pages_together_hold_each_window_once_and_whole(
    *,
    name: str,
    places: tuple[Places, Places],
    expired: tuple[int, int | None],
    bounds: tuple[int, int | None],
    folded: int,
    limit: int,
    newest: bool,
) -> None:
    view = VIEWS[name]
    tables = [_table(view, some, seed) for seed, some in enumerate(places)]
    expired_us = [None if nth is None else _near(view, nth) for nth in expired]
    from_us, until_us = (None if nth is None else _near(view, nth) for nth in bounds)
    panes = view.window.panes
    times = folded if view in (ZONE_DEMAND, BY_BASE) else 1
    window_us = None if panes is None else panes.size_us * times
    windows = [by_window(view, table) for table in tables]
    wanted = {
        key: cells
        for key, cells in merge_tables(view, windows, window_us if times > 1 else 1).items()
        if _start_us(key) >= (from_us or 0) and (until_us is None or _start_us(key) < until_us)
    }
    query = RowsQuery(view, from_us, until_us, window_us=window_us, limit=limit, newest_first=newest)
    with TemporaryDirectory() as folder:
        final_us = max(at for at in expired_us if at is not None)
        write_gold(Path(folder), view, _ended(view, tables, final_us), final_us)
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
        (to_iso(_start_us(key)), [*key.group], wanted[key][COUNT_AT], as_hex(wanted[key][FINGERPRINT_AT]))
        for key in (keys[::-1] if newest else keys)
    ]


async def test_what_each_row_was_had_from_is_told(tmp_path: Path) -> None:
    table = _table(ZONE_DEMAND, [(nth, 7) for nth in range(4)], 1)
    left_us = _near(ZONE_DEMAND, 2)
    write_gold(tmp_path, ZONE_DEMAND, _ended(ZONE_DEMAND, [table], left_us), left_us)
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


async def test_a_query_that_names_no_first_window_is_answered_by_the_tables(tmp_path: Path) -> None:
    table = _table(ZONE_DEMAND, [(nth, 7) for nth in range(4)], 1)
    edge = _edge(ZONE_DEMAND, [left(ZONE_DEMAND, table, _near(ZONE_DEMAND, 2))], tmp_path)
    rows, meta = await _page(edge, RowsQuery(ZONE_DEMAND))
    assert ([row["source"] for row in rows], meta["history"]) == (["live", "live"], None)


@pytest.mark.parametrize(
    ("held", "history", "said"),
    [
        (None, "history", "the history has nothing of it yet"),
        (1, "history", "the history has what begins before .* yet"),
        (None, None, "no history is kept"),
    ],
)
async def test_windows_that_neither_has_are_refused_and_never_zero(
    tmp_path: Path, held: int | None, history: str | None, said: str
) -> None:
    folder = None if history is None else tmp_path
    table = _table(ZONE_DEMAND, [(nth, 7) for nth in range(4)], 1)
    if held is not None:
        write_gold(tmp_path, ZONE_DEMAND, {}, _near(ZONE_DEMAND, held))
    edge = _edge(ZONE_DEMAND, [left(ZONE_DEMAND, table, _near(ZONE_DEMAND, 2))], folder)
    with pytest.raises(Problem, match=f"have left the tables, and {said}") as told:
        await _page(edge, _from(0))
    assert told.value.slug == "not-in-history"


@pytest.mark.parametrize("harm", ["a file is gone", "a file is damaged", "the log is damaged"])
async def test_a_history_that_is_damaged_is_told_with_its_folder_and_what_to_do(tmp_path: Path, harm: str) -> None:
    table = _table(ZONE_DEMAND, [(nth, 7) for nth in range(4)], 1)
    left_us = _near(ZONE_DEMAND, 4)
    write_gold(tmp_path, ZONE_DEMAND, _ended(ZONE_DEMAND, [table], left_us), left_us)
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
    table = _table(ZONE_DEMAND, [(nth, 7) for nth in range(4)], 1)
    left_us = _near(ZONE_DEMAND, 4)
    write_gold(tmp_path, ZONE_DEMAND, _ended(ZONE_DEMAND, [table], left_us), left_us)
    limits = HttpSettings(max_rows=3)
    edge = _edge(ZONE_DEMAND, [left(ZONE_DEMAND, table, left_us)], tmp_path, limits)
    with pytest.raises(Problem) as told:
        await _page(edge, _from(0))
    assert told.value.slug == "too-much"


async def test_other_programs_may_write_to_a_table_in_between(tmp_path: Path) -> None:
    table = _table(ZONE_DEMAND, [(0, 7), (1, None)], 1)
    left_us = _near(ZONE_DEMAND, 2)
    write_gold(tmp_path, ZONE_DEMAND, _ended(ZONE_DEMAND, [table], left_us), left_us)
    DeltaTable(gold_folder(tmp_path, ZONE_DEMAND)).optimize.compact()
    edge = _edge(ZONE_DEMAND, [left(ZONE_DEMAND, table, left_us)], tmp_path)
    rows, _ = await _page(edge, _from(0))
    assert [row["group"]["zone"] for row in rows] == [7, None]


def _from(nth: int) -> RowsQuery:
    """All panes from the nth on."""
    return RowsQuery(ZONE_DEMAND, _near(ZONE_DEMAND, nth), window_us=PANE_US)


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


def _table(view: View, places: Places, seed: int) -> TableRows:
    """Rows at these of the view's stored starts; of overlapping windows each counts in all that hold it."""
    starts, overlap = list(_starts(view)), view.window.overlap
    first = [[overlap.first_ending_after(start_us)] if overlap else [] for start_us in starts]
    keys = (RowKey(starts[nth], (*first[nth], *_groups(view, number))) for nth, number in places)
    return {key: cells_of(view, 100 * seed + at) for at, key in enumerate(keys)}


def _starts(view: View) -> Iterator[int]:
    overlap = view.window.overlap
    start_us = overlap.pane_start(NOON_US) if overlap else view.window.start(NOON_US)
    for _ in range(STARTS):
        yield start_us
        start_us = overlap.last_window(start_us) + overlap.step_us if overlap else view.window.end(start_us)


def _groups(view: View, number: int | None) -> tuple[int | str | None, ...]:
    """Of numbers the number itself, of texts its digits."""
    texts = view.texts[len(view.texts) - len(view.groups) :]
    return tuple(str(number) if text and number is not None else number for text in texts)


def _near(view: View, nth: int) -> int:
    first_us, second_us, *_ = _starts(view)
    return first_us + nth * (second_us - first_us)


def _ended(view: View, tables: Sequence[TableRows], to_us: int) -> TableRows:
    """Windows that had ended by then, of all tasks together."""
    windows = merge_tables(view, [by_window(view, table) for table in tables], 1)
    return {key: cells for key, cells in windows.items() if view.window.window_end(_start_us(key)) <= to_us}


def _start_us(key: RowKey) -> int:
    return as_integer(key.window_start_us)
