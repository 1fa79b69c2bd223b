"""A part is cut to what its page needs, and never cuts a row short."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.measures.kinds import Count
from app.domain.rows import RowKey
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.fold_rows import key_at
from app.edge.http.rows.page_rows import reading_of
from app.edge.http.rows.parts import decode_parts, encode_parts, part_of
from app.engine.core.rows import piece_bounds
from app.engine.core.rows import table as table_module
from app.engine.core.rows.piece_bounds import PIECE_SLOTS
from app.engine.core.rows.state import ViewState
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, zone_table
from tests.support.material.stored.tables import cells_of, in_order, merge_tables, ready_directory, task_of

BY_ZONE = View(
    89, "by_zone", RIDES, (Group("zone", "pickup_zone"),), AllTime(), (Count("rides"),), 0, 0, "a total of each zone"
)
places = st.lists(st.tuples(st.integers(-6, 30), st.none() | st.integers(1, 4)), max_size=60, unique=True)


@given(
    placed=places,
    panes=st.integers(1, 5),
    limit=st.integers(1, 6),
    newest=st.booleans(),
    after=st.none() | st.tuples(st.integers(-2, 8), st.none() | st.integers(1, 4)),
    bounds=st.tuples(*[st.none() | st.integers(-2, 8)] * 2),
    piece_slots=st.sampled_from([3, PIECE_SLOTS]),
)
def test_a_part_holds_the_first_rows_of_its_task_whole(
    *,
    placed: Any,
    panes: int,
    limit: int,
    newest: bool,
    after: tuple[int, int | None] | None,
    bounds: tuple[int | None, int | None],
    piece_slots: int,
) -> None:
    window_us, table = panes * PANE_US, zone_table(*placed)
    start = NOON_US // window_us * window_us
    behind = None if after is None else RowKey(start + after[0] * window_us, (after[1],))
    from_us, until_us = (None if at is None else start + at * window_us for at in bounds)
    query = RowsQuery(ZONE_DEMAND, from_us, until_us, window_us, limit=limit, newest_first=newest, after=behind)
    with patch.object(table_module, "PIECE_SLOTS", piece_slots), patch.object(piece_bounds, "PIECE_SLOTS", piece_slots):
        task = task_of(0, {ZONE_DEMAND: table})
        rows = part_of(ready_directory([task]), task, query).rows
    merged = {
        key: cells
        for key, cells in merge_tables(ZONE_DEMAND, [table], window_us).items()
        if (from_us is None or (key.window_start_us or 0) >= from_us)
        and (until_us is None or (key.window_start_us or 0) < until_us)
    }
    keys = in_order([*merged, behind] if behind is not None and behind not in merged else list(merged))
    keys = keys[::-1] if newest else keys
    wanted = keys[keys.index(behind) + 1 if behind is not None else 0 :][: limit + 1]
    assert [key_at(rows, at) for at in range(len(rows))] == wanted
    assert [tuple(cells) for cells in rows.cells.tolist()] == [merged[key] for key in wanted]


@given(zones=st.sets(st.none() | st.integers(1, 40), max_size=30), limit=st.integers(1, 4), newest=st.booleans())
def test_a_page_of_a_view_without_windows_reads_the_rows_of_its_groups(
    *, zones: set[int | None], limit: int, newest: bool
) -> None:
    keys = in_order([RowKey(None, (zone,)) for zone in zones])[:: -1 if newest else 1]
    task = task_of(0, {BY_ZONE: {RowKey(None, (v,)): cells_of(BY_ZONE, 1) for v in zones}})
    for begun in range(0, len(keys) + 1, limit):
        after = keys[begun - 1] if begun else None
        query = RowsQuery(BY_ZONE, limit=limit, newest_first=newest, after=after)
        assert len(reading_of(query, task).slots) <= limit + 2
        rows = part_of(ready_directory([task]), task, query).rows
        assert [key_at(rows, at) for at in range(len(rows))] == keys[begun : begun + limit + 1]


@pytest.mark.parametrize(("newest", "bounds"), [(True, (27, None)), (False, (None, 12))])
def test_a_page_of_a_large_table_reads_the_pieces_it_is_in_and_no_others(
    monkeypatch: pytest.MonkeyPatch, *, newest: bool, bounds: tuple[int | None, int | None]
) -> None:
    for module in (table_module, piece_bounds):
        monkeypatch.setattr(module, "PIECE_SLOTS", 3)
    task = task_of(0, {ZONE_DEMAND: zone_table(*((pane, 1) for pane in range(30)))})
    asked: list[Any] = []
    find = ViewState.find
    monkeypatch.setattr(ViewState, "find", lambda state, **given: asked.append(given) or find(state, **given))
    panes, limit = (1, 2) if newest else (3, 3)
    query = RowsQuery(ZONE_DEMAND, window_us=panes * PANE_US, limit=limit, newest_first=newest)
    rows = part_of(ready_directory([task]), task, query).rows
    assert len(rows) == query.limit + 1
    from_us, until_us = (None if pane is None else NOON_US + pane * PANE_US for pane in bounds)
    assert [(given["from_us"], given["until_us"]) for given in asked] == [(from_us, until_us)]


def test_parts_travel_between_workers_unchanged() -> None:
    rows = {RowKey(NOON_US, (base, zone)): cells_of(BY_BASE, 1) for base in (None, "Ω") for zone in (None, 7)}
    task = task_of(3, {BY_BASE: rows}, watermark_us=NOON_US)
    part = part_of(ready_directory([task]), task, RowsQuery(BY_BASE, window_us=PANE_US))
    (read,) = decode_parts(RowsQuery(BY_BASE), encode_parts([part]))
    assert (read.partition, read.inputs, read.row_count) == (3, part.inputs, 4)
    assert [key_at(read.rows, at) for at in range(4)] == [key_at(part.rows, at) for at in range(4)]
    assert read.rows.cells.tolist() == part.rows.cells.tolist()


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b'[{"partition": 0}]', b"null"])
def test_what_is_no_part_is_refused(body: bytes) -> None:
    if body == b"{}":
        assert decode_parts(RowsQuery(ZONE_DEMAND), body) == []
        return
    with pytest.raises((ValueError, KeyError, TypeError)):
        decode_parts(RowsQuery(ZONE_DEMAND), body)
