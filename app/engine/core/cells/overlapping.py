"""Windows that overlap, folded from the panes that are stored (rule 7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.view import View
from app.domain.windows.panes import Overlap
from app.engine.core.cells.grouping import number_groups
from app.engine.core.cells.mergers import merge_groups
from app.engine.core.rows.columns import Rows
from app.engine.core.rows.state import ViewState
from app.engine.core.rows.texts import codes_of


class ClosedWindows(NamedTuple):
    """Rows of windows, each its own first window, and the instant up to which they are all there are."""

    rows: Rows
    to_us: int


def next_closed(state: ViewState, overlap: Overlap, after_us: int | None, to_us: int, most: int) -> ClosedWindows:
    """The windows that end in `(after_us, to_us]`: the earliest whose rows are folded of at most `most` panes, and one
    window at least."""
    size_us, step_us, _ = overlap
    from_us = None if after_us is None else overlap.first_ending_after(after_us)
    panes = state.rows_at(state.find(from_us=from_us, until_us=to_us))
    first, last = window_spans(overlap, panes)
    if after_us is not None:
        first = np.maximum(first, overlap.first_ending_after(after_us))
    last = np.minimum(last, overlap.last_end(to_us) - size_us)
    alive = np.flatnonzero(first <= last)
    panes, first, last = panes.at(alive), first[alive], last[alive]
    if ((last - first) // step_us + 1).sum() > most:
        until_us = _last_within(first, last, step_us, most)
        if until_us < last.max():
            to_us = until_us + size_us
            last = np.minimum(last, until_us)
    return ClosedWindows(_spread(state.view, overlap.step_us, panes, first, last), to_us)


def window_spans(overlap: Overlap, panes: Rows) -> tuple[Int64s, Int64s]:
    """Of each pane's row the starts of the first and the last window that count it."""
    assert panes.windows is not None
    _, step_us, offset_us = overlap
    last: Int64s = (panes.windows - offset_us) // step_us * step_us + offset_us
    return np.asarray(panes.groups[0]), last


def with_first_windows(overlap: Overlap, panes: Rows) -> Rows:
    """Panes of a view whose own windows do not overlap, as one stores them whose windows do: counted in all of them."""
    assert panes.windows is not None
    size_us, step_us, offset_us = overlap
    first = ((panes.windows - size_us - offset_us) // step_us + 1) * step_us + offset_us
    return Rows(panes.windows, [first, *panes.groups], panes.cells, panes.corrected)


def by_window(
    view: View, overlap: Overlap, panes: Rows, from_us: int | None, until_us: int | None, ended_by_us: int | None
) -> Rows:
    """One row per window and group (`View.stored_groups`, each its own first window) out of all panes they are in.

    Only windows that start in `[from_us, until_us)` and end behind `ended_by_us`; None leaves a side open.
    """
    first, last = window_spans(overlap, panes)
    if from_us is not None:
        first = np.maximum(first, overlap.first_ending_after(from_us + overlap.size_us - 1))
    if ended_by_us is not None:
        first = np.maximum(first, overlap.first_ending_after(ended_by_us))
    if until_us is not None:
        last = np.minimum(last, overlap.last_window(until_us - 1))
    return _spread(view, overlap.step_us, panes, first, last)


def _last_within(first: Int64s, last: Int64s, step_us: int, most: int) -> int:
    """The last window up to which panes are counted at most `most` times together; the first window at least."""
    low, high = 0, int(last.max() - first.min()) // step_us
    while low < high:
        middle = (low + high + 1) // 2
        counted = (np.minimum(last, first.min() + middle * step_us) - first) // step_us + 1
        low, high = (middle, high) if np.maximum(counted, 0).sum() <= most else (low, middle - 1)
    return int(first.min()) + low * step_us


def _spread(view: View, step_us: int, panes: Rows, first: Int64s, last: Int64s) -> Rows:
    """Each pane's row in every window from its first to its last; rows of one window and group merged."""
    times = np.maximum((last - first) // step_us + 1, 0)
    of = np.repeat(np.arange(len(panes)), times)
    nth = np.arange(len(of)) - np.repeat(np.cumsum(times) - times, times)
    windows = first[of] + nth * step_us
    groups = [held[of] for held in panes.groups[1:]]
    keys = np.stack([windows, *(codes_of(held)[of] for held in panes.groups[1:])], axis=1)
    numbers = np.empty(len(of), np.int64)
    at = number_groups(keys, np.zeros(len(of), np.int8), numbers)
    cells = merge_groups(view, panes.cells[of], numbers, len(at))
    corrected = None if panes.corrected is None else np.bincount(numbers, panes.corrected[of], len(at)) > 0
    return Rows(windows[at], [windows[at], *(held[at] for held in groups)], cells, corrected)
