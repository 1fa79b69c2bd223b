"""What the engine does differently for each kind of window: the one contract of their kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.domain.view import View
from app.domain.windows.contract import Window
from app.engine.core.cells.mergers import merge
from app.engine.core.cells.sessions import Touching
from app.engine.core.draft import Draft
from app.engine.core.kinds.loops import FateCodes
from app.engine.core.records.usable import Usable
from app.engine.core.rows.state import Rows, ViewChange, ViewState
from app.engine.core.task_state import RowsChanged

WindowKind = TypeVar("WindowKind", bound=Window)


class Placed(NamedTuple):
    """Of each record the start of its stored window, of windows that overlap the first that counts it, and its fate.

    Where rows merge, the window is that of the row which the record alone would make. What is not applied may have any.
    """

    windows: Int64s
    first_windows: Int64s | None
    fates: FateCodes


class FoundRows(NamedTuple):
    """Slots of rows, in no particular order, and the instant up to which they are all there are."""

    slots: Int64s
    to_us: int


class Closed(NamedTuple):
    """Rows of windows that closed, and the instant up to which they are all there are."""

    rows: Rows
    to_us: int


class Kernel(ABC, Generic[WindowKind]):
    """A view's windows over columns of records and rows. What is not abstract serves kinds whose rows stand alone."""

    def __init__(self, view: View, window: WindowKind) -> None:
        self.view, self.window = view, window

    @abstractmethod
    def place(self, usable: Usable) -> Placed:
        """Where the records belong, each by its own watermark."""

    @abstractmethod
    def ends(self, state: ViewState, slots: Int64s) -> Int64s:
        """The exclusive end of each row's last window, as `Window.end`."""

    def together(self, groups: Sequence[Int64s], placed: Placed) -> Int64s:
        """The windows of a batch's records when they are seen together; `groups` are their key columns."""
        return placed.windows

    def change(self, draft: Draft, rows: Rows) -> None:
        """Merge the rows that a batch gives with those that are there."""
        state = draft.state.views[self.view.name]
        slots = state.find_slots(rows)
        known = slots >= 0
        cells = rows.cells.copy()
        cells[known] = merge(self.view, state.cells_at(slots[known]), rows.cells[known])
        rows = Rows(rows.windows, rows.groups, cells)
        draft.keep_rows(self.view, rows)
        draft.effects.append(RowsChanged(self.view.name, ViewChange(slots[known], cells[known], rows.at(~known))))

    def next_ended(self, state: ViewState, after_us: int | None, to_us: int, most: int) -> FoundRows:
        """Rows whose windows end in `(after_us, to_us]`: the earliest `most`, and those that end with the last."""
        slots = self._that_may_end(state, after_us, to_us)
        ends = self.ends(state, slots)
        inside = ends <= to_us if after_us is None else (ends <= to_us) & (ends > after_us)
        return earliest(slots[inside], ends[inside], to_us, most)

    def next_closed(self, state: ViewState, after_us: int | None, to_us: int, most: int) -> Closed:
        """The rows of windows that end in `(after_us, to_us]`, bounded as `next_ended`."""
        ended = self.next_ended(state, after_us, to_us, most)
        return Closed(state.rows_at(ended.slots), ended.to_us)

    def next_open(self, state: ViewState, after_us: int | None, to_us: int, most: int) -> FoundRows:
        """Rows that began in `(after_us, to_us]` and end later, where a closed row may become one with an open one: the
        earliest `most`, and those that begin with the last."""
        return FoundRows(np.empty(0, np.int64), to_us)

    def touching(self, state: ViewState, rows: Rows) -> Touching:
        """Rows as one with those of a state that they touch, where rows merge."""
        raise TypeError(f"rows of {self.view.name} do not merge")

    def _that_may_end(self, state: ViewState, after_us: int | None, to_us: int) -> Int64s:
        from_us = None if after_us is None else self.window.ended_below(after_us)
        return state.find(from_us=from_us, until_us=self.window.ended_below(to_us))


def earliest(slots: Int64s, instants: Int64s, to_us: int, most: int) -> FoundRows:
    """The `most` rows whose instants are the earliest, and those that share the last; none is later than `to_us`."""
    if len(slots) <= most:
        return FoundRows(slots, to_us)
    last_us = int(np.partition(instants, most - 1)[most - 1])
    return FoundRows(slots[instants <= last_us], last_us)


class Instants(NamedTuple):
    """What windows over a column are placed by: the records' instants, which of them are known, their watermarks."""

    values: Int64s
    known: npt.NDArray[np.bool_]
    marks_us: Int64s


def instants_of(usable: Usable, column: str) -> Instants:
    held = usable.column(column)
    return Instants(np.ascontiguousarray(held.values[0]), held.present, usable.watermarks_us)


def windows_of(state: ViewState, slots: Int64s) -> Int64s:
    """The starts of rows of a view whose windows end."""
    windows = state.windows_at(slots)
    assert windows is not None
    return windows
