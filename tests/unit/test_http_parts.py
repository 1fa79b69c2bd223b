"""A part is cut to what its page needs, and never cuts a row short."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.fold import RowKey
from app.edge.http.fold_rows import key_at
from app.edge.http.parts import decode_parts, encode_parts, part_of
from app.edge.http.rows_query import RowsQuery
from app.rides.views import ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, zone_table
from tests.support.tables import cells_of, in_order, merge_tables, ready_directory, task_of

places = st.lists(st.tuples(st.integers(-6, 30), st.none() | st.integers(1, 4)), max_size=60, unique=True)


@given(
    placed=places,
    panes=st.integers(1, 5),
    limit=st.integers(1, 6),
    newest=st.booleans(),
    after=st.none() | st.tuples(st.integers(-2, 8), st.none() | st.integers(1, 4)),
)
def test_a_part_holds_the_first_rows_of_its_task_whole(
    *, placed: Any, panes: int, limit: int, newest: bool, after: tuple[int, int | None] | None
) -> None:
    window_us, table = panes * PANE_US, zone_table(*placed)
    start = NOON_US // window_us * window_us
    behind = None if after is None else RowKey(start + after[0] * window_us, (after[1],))
    query = RowsQuery(ZONE_DEMAND, window_us=window_us, limit=limit, newest_first=newest, after=behind)
    task = task_of(0, {ZONE_DEMAND: table})
    rows = part_of(ready_directory([task]), task, query).rows
    merged = merge_tables(ZONE_DEMAND, [table], window_us)
    keys = in_order([*merged, behind] if behind is not None and behind not in merged else list(merged))
    keys = keys[::-1] if newest else keys
    wanted = keys[keys.index(behind) + 1 if behind is not None else 0 :][: limit + 1]
    assert [key_at(rows, at) for at in range(len(rows))] == wanted
    assert [tuple(cells) for cells in rows.cells.tolist()] == [merged[key] for key in wanted]


def test_parts_travel_between_workers_unchanged() -> None:
    rows = {RowKey(NOON_US, (base, zone)): cells_of(BY_BASE, 1) for base in (None, "Ω") for zone in (None, 7)}
    task = task_of(3, {BY_BASE: rows}, watermark_us=NOON_US)
    part = part_of(ready_directory([task]), task, RowsQuery(BY_BASE, window_us=PANE_US))
    (read,) = decode_parts(BY_BASE, encode_parts([part]))
    assert (read.partition, read.inputs, read.row_count) == (3, part.inputs, 4)
    assert [key_at(read.rows, at) for at in range(4)] == [key_at(part.rows, at) for at in range(4)]
    assert read.rows.cells.tolist() == part.rows.cells.tolist()


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b'[{"partition": 0}]', b"null"])
def test_what_is_no_part_is_refused(body: bytes) -> None:
    if body == b"{}":
        assert decode_parts(ZONE_DEMAND, body) == []
        return
    with pytest.raises((ValueError, KeyError, TypeError)):
        decode_parts(ZONE_DEMAND, body)
