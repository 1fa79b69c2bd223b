"""Which rows of a task a page is folded of, known before any of them is copied."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.codecs.stored.changelog import NULL_INTEGER
from app.edge.http.query.instants import later
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.fold_rows import merged, page, regrouped
from app.edge.http.rows.overlapping_rows import reading_of_windows
from app.edge.http.rows.reading import Reading
from app.edge.http.rows.touching_rows import slots_that_touch
from app.engine.core.rows.state import Rows, ViewState
from app.engine.core.task_state import TaskState


def reading_of(query: RowsQuery, task: TaskState, more: int = 1) -> Reading:
    """What the query reads of the task, as it is now. `more`: so many times as many rows as are most often enough.

    A page needs no more than the task's own first `limit` + 1 rows: none behind is among the first of all. One whose
    rows are ranked, made of those of several groups, or may touch those of other tasks, needs all of them.
    """
    view, state = query.view, task.views[query.view.name]
    if view.window.merges:
        return Reading(slots_that_touch(query, state), partial(_kept, query))
    if overlap := query.overlap:
        return reading_of_windows(query, overlap, state, task.marker.views[view.name].expired_to_us, more)
    return Reading(_page_slots(query, state), partial(folded_page, query), leave=partial(_kept, query))


def _kept(query: RowsQuery, rows: Rows) -> Rows:
    return regrouped(rows, query.arrangement.places_in(query.view))


def folded_page(query: RowsQuery, rows: Rows) -> Rows:
    """The query's page of these rows: its first `limit` + 1 behind the cursor, or all where they are ranked."""
    folded = merged(query.view, _kept(query, rows), query.tiled_us, query.aligned_us)
    if query.arrangement.takes_all:
        return folded
    return page(folded, query.after, query.limit + 1, newest_first=query.newest_first)


def _page_slots(query: RowsQuery, state: ViewState) -> Int64s:
    from_us, until_us = query.stored_bounds_us
    if query.arrangement.takes_all:
        return state.find(from_us=from_us, until_us=until_us, groups=query.groups)
    if not query.groups:
        from_us, until_us = _narrowed(query, state, from_us, until_us)
    slots = state.find(from_us=from_us, until_us=until_us, groups=query.groups)
    if len(slots) <= _panes(query):
        return slots
    windows = state.windows_at(slots)
    return _page_groups(query, state, slots) if windows is None else slots[page_panes(query, windows)]


def _page_groups(query: RowsQuery, state: ViewState, slots: Int64s) -> Int64s:
    """Of a view without windows: rows of enough groups for the page, where the first group is a number."""
    numbers, needed = state.numbers_at(slots), query.limit + 1
    if numbers is None:
        return slots
    if query.after is not None:
        value = query.after.group[0]
        at = NULL_INTEGER if value is None else int(value)
        behind = numbers <= at if query.newest_first else numbers >= at
        slots, numbers = slots[behind], numbers[behind]
        needed += int(np.count_nonzero(numbers == at))
    if needed >= len(slots):
        return slots
    last = len(slots) - needed if query.newest_first else needed - 1
    bound = np.partition(numbers, last)[last]
    wanted: npt.NDArray[np.bool_] = numbers >= bound if query.newest_first else numbers <= bound
    return slots[wanted]


def _narrowed(
    query: RowsQuery, state: ViewState, from_us: int | None, until_us: int | None
) -> tuple[int | None, int | None]:
    """Whole windows within these bounds that hold the page: a large table is not searched for its newest rows."""
    size, at, behind = query.window_us or 1, query.aligned_us, 0
    if query.after is not None and query.after.window_start_us is not None:
        cursor_us = query.after.window_start_us
        behind = len(state.find(from_us=cursor_us, until_us=cursor_us + size))
    low_us, end_us = state.narrowed(_panes(query) + behind, from_us, until_us, newest_first=query.newest_first)
    if low_us is not None and low_us != from_us:
        low_us = later((low_us - at) // size * size + at, from_us)
    if end_us is not None and end_us != until_us:
        end_us = -(-(end_us - at) // size) * size + at
    return low_us, end_us


def _panes(query: RowsQuery) -> int:
    """Rows of panes that the page is folded of at most; a row of it from one pane up to as many as fit its window."""
    panes = query.view.window.panes
    return (query.limit + 1) * ((query.window_us or 1) // panes.size_us if panes else 1)


def page_panes(query: RowsQuery, windows: Int64s) -> npt.NDArray[np.bool_]:
    """Which panes are enough for the query's page, so that a large table is not sorted for a few rows.

    The cursor's own window may lie before it as a whole.
    """
    size, at, needed = query.window_us or 1, query.aligned_us, _panes(query)
    if query.after is not None and query.after.window_start_us is not None:
        needed += int(np.count_nonzero((windows - at) // size * size + at == query.after.window_start_us))
    if needed >= len(windows):
        return np.ones(len(windows), bool)
    last = len(windows) - needed if query.newest_first else needed - 1
    bound = (np.partition(windows, last)[last] - at) // size * size + at
    return np.asarray(windows >= bound if query.newest_first else windows < bound + size)
