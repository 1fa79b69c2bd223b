"""Rows of overlapping windows for a page: as many panes as it takes, each in all the windows that count it."""

from __future__ import annotations

from functools import partial

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.domain.windows.panes import Overlap
from app.edge.http.query.instants import later
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.fold_rows import merged, page, regrouped
from app.edge.http.rows.reading import Reading
from app.engine.core.cells.overlapping import by_window, with_first_windows
from app.engine.core.rows.state import Rows, ViewState

Bounds = tuple[int | None, int | None]


def reading_of_windows(
    query: RowsQuery, overlap: Overlap, state: ViewState, expired_to_us: int | None, more: int
) -> Reading:
    """Of the query's first `limit` + 1 rows behind its cursor, in the order asked for: rows by window and group.

    Windows that ended by `expired_to_us` have lost panes, and are left out.
    """
    from_us, until_us = window_bounds(query)
    first_us = None if from_us is None else overlap.first_ending_after(from_us + overlap.size_us - 1)
    end_us = None if until_us is None else overlap.last_window(until_us - 1) + overlap.size_us
    slots = state.find(from_us=first_us, until_us=end_us, groups=query.groups)
    panes = state.windows_at(slots)
    assert panes is not None
    times = -(-overlap.size_us // overlap.step_us)
    count = len(slots) if query.arrangement.takes_all else (query.limit + 1) * (times + 1) * more
    chosen, within = _some(query, overlap, panes, count, (from_us, until_us))
    is_all = count >= len(slots)
    fold = partial(_folded, query, overlap, within, expired_to_us, is_all)
    return Reading(slots[chosen], fold, _most_times(overlap, panes[chosen], within))


def _folded(
    query: RowsQuery, overlap: Overlap, within: Bounds, expired_to_us: int | None, is_all: bool, panes: Rows
) -> Rows | None:
    """None if the page is not full and there are more panes: a pane's rows may be of few windows."""
    if query.step_us is not None:
        panes = with_first_windows(overlap, panes)
    found = by_window(query.view, overlap, panes, *within, expired_to_us)
    own = len(found.groups) - len(query.view.groups)
    rows = merged(query.view, regrouped(found, [own + at for at in query.arrangement.places_in(query.view)]), None)
    if query.arrangement.takes_all:
        return rows
    behind = page(rows, query.after, query.limit + 1, newest_first=query.newest_first)
    return behind if is_all or len(behind) > query.limit else None


def window_bounds(query: RowsQuery) -> Bounds:
    """Windows that start in `[from, to)`, not before the cursor's, and of those that tables are to give."""
    from_us, until_us = later(query.stored_from_us, query.from_us), query.until_us
    if query.after is None or query.after.window_start_us is None:
        return from_us, until_us
    at_us = query.after.window_start_us
    if query.newest_first:
        return from_us, at_us + 1 if until_us is None else min(until_us, at_us + 1)
    return later(at_us, from_us), until_us


def _most_times(overlap: Overlap, panes: Int64s, within: Bounds) -> int:
    """How many of the windows count a pane, at most."""
    if not len(panes):
        return 1
    from_us, until_us = within
    first_us = overlap.first_ending_after(int(panes.min()) if from_us is None else from_us + overlap.size_us - 1)
    last_us = overlap.last_window(int(panes.max()) if until_us is None else until_us - 1)
    return max(1, min(-(-overlap.size_us // overlap.step_us), (last_us - first_us) // overlap.step_us + 1))


def _some(query: RowsQuery, overlap: Overlap, panes: Int64s, count: int, within: Bounds) -> tuple[Mask, Bounds]:
    """At least `count` of the panes where the page begins, and the windows for which they are all there are."""
    from_us, until_us = within
    if count >= len(panes):
        return np.ones(len(panes), bool), within
    if query.newest_first:
        bound = int(np.partition(panes, -count)[-count])
        return panes >= bound, (bound if from_us is None else max(from_us, bound), until_us)
    bound = int(np.partition(panes, count)[count])
    whole = overlap.last_end(bound) - overlap.size_us + 1
    return panes < bound, (from_us, whole if until_us is None else min(until_us, whole))
