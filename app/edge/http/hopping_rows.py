"""Rows of hopping windows for a page: as many panes as it takes, each in all the windows that count it."""

from __future__ import annotations

import numpy as np

from app.codecs.changelog import Int64s
from app.domain.windows import Hopping
from app.edge.http.fold_rows import merged, page
from app.edge.http.rows_query import RowsQuery
from app.engine.core.hopping import by_window
from app.engine.core.state import Rows, ViewState

Bounds = tuple[int | None, int | None]


def page_windows(query: RowsQuery, state: ViewState, expired_to_us: int | None) -> Rows:
    """Rows by window and group: the query's first `limit` + 1 behind its cursor, in the order asked for.

    Windows that ended by `expired_to_us` have lost panes, and are left out.
    """
    window, (from_us, until_us) = query.view.window, window_bounds(query)
    assert isinstance(window, Hopping)
    first_us = None if from_us is None else window.first_ending_after(from_us + window.size_us - 1)
    end_us = None if until_us is None else window.last_window(until_us - 1) + window.size_us
    slots = state.find(from_us=first_us, until_us=end_us, groups=query.groups)
    panes = state.windows_at(slots)
    assert panes is not None
    order = np.argsort(panes, kind="stable")
    slots, panes = slots[order], panes[order]
    groups = len(query.view.groups)
    count = (query.limit + 1) * (window.size_us // window.step_us + 1)
    while True:  # most often once: a pane's rows are of more windows than they are needed for
        chosen, (low_us, high_us) = _some(query, panes, count, (from_us, until_us))
        found = by_window(query.view, state.rows_at(slots[chosen]), low_us, high_us, expired_to_us)
        rows = merged(query.view, Rows(found.windows, found.groups[len(found.groups) - groups :], found.cells), None)
        behind = page(query.view, rows, query.after, query.limit + 1, newest_first=query.newest_first)
        if len(behind) > query.limit or count >= len(slots):
            return behind
        count *= 4


def window_bounds(query: RowsQuery) -> Bounds:
    """Windows that start in `[from, to)`, and not before the cursor's."""
    from_us, until_us = query.from_us, query.until_us
    if query.after is None or query.after.window_start_us is None:
        return from_us, until_us
    at_us = query.after.window_start_us
    if query.newest_first:
        return from_us, at_us + 1 if until_us is None else min(until_us, at_us + 1)
    return at_us if from_us is None else max(from_us, at_us), until_us


def _some(query: RowsQuery, panes: Int64s, count: int, within: Bounds) -> tuple[slice, Bounds]:
    """At least `count` of the rising panes where the page begins, and the windows for which they are all there are."""
    window, (from_us, until_us) = query.view.window, within
    assert isinstance(window, Hopping)
    if count >= len(panes):
        return slice(None), within
    if query.newest_first:
        bound = int(panes[-count])
        chosen = slice(int(np.searchsorted(panes, bound)), None)
        return chosen, (bound if from_us is None else max(from_us, bound), until_us)
    bound = int(panes[count])
    whole = window.last_end(bound) - window.size_us + 1
    return slice(0, int(np.searchsorted(panes, bound))), (from_us, whole if until_us is None else min(until_us, whole))
