"""Rows that records made, of all tasks as one: those of a key that touch become one row (rule 19)."""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.view import View
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.fold_rows import cells_of_runs, corrected_of_runs, run_starts, sortable
from app.engine.core.kinds.kernels import kernel_of
from app.engine.core.rows.state import Rows, ViewState


def slots_that_touch(query: RowsQuery, state: ViewState) -> Int64s:
    """Slots of all rows that may be part of a row which begins at `from` or later.

    What ends before it touches nothing that begins there. What begins before it and ends later is taken along, so that
    a row which begins there and touches it is known to have begun before. There is no such bound for `to`: a row may
    go on for as long as others touch it.
    """
    if query.from_us is None:
        return state.find(groups=query.groups)
    if query.until_us is not None and query.until_us <= query.from_us:
        return np.empty(0, np.int64)
    slots = state.find(groups=query.groups)
    return slots[kernel_of(query.view).ends(state, slots) >= query.from_us]


def together(view: View, rows: Rows) -> Rows:
    """Rows of a view that merge, those of a key that touch as one, by start, then group."""
    assert rows.windows is not None
    groups = [sortable(held) for held in rows.groups]
    order = np.lexsort([rows.windows, *reversed(groups)])
    starts = _begin(view, [group[order] for group in groups], rows.at(order))
    first = order[starts]
    merged = Rows(
        rows.windows[first],
        [held[first] for held in rows.groups],
        cells_of_runs(view, rows.cells[order], starts),
        corrected_of_runs(rows, order, starts),
    )
    assert merged.windows is not None
    return merged.at(np.lexsort([*reversed([group[first] for group in groups]), merged.windows]))


def between(query: RowsQuery, rows: Rows) -> Rows:
    """Those that begin in `[from, to)`."""
    assert rows.windows is not None
    wanted = np.ones(len(rows), bool)
    if query.from_us is not None:
        wanted &= rows.windows >= query.from_us
    if query.until_us is not None:
        wanted &= rows.windows < query.until_us
    return rows.at(np.flatnonzero(wanted))


def _begin(view: View, groups: list[Int64s], rows: Rows) -> Int64s:
    """Where a row begins that touches none before it; the rows are sorted by group, then start."""
    assert rows.windows is not None
    begins = np.zeros(len(rows), bool)
    begins[run_starts(groups, len(rows))] = True
    reached_us = 0
    lasts_us = rows.cells[:, view.last_at].tolist()
    for at, (start_us, last_us) in enumerate(zip(rows.windows.tolist(), lasts_us, strict=True)):
        end_us = view.window.end(start_us, last_us)
        if begins[at] or start_us > reached_us:
            begins[at], reached_us = True, end_us
        else:
            reached_us = max(reached_us, end_us)
    return np.flatnonzero(begins)
