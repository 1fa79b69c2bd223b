"""The committed state of a task: rows of each view in arrays, and the marker they belong to.

Everything here is read and changed on one event loop, between awaits: whoever reads between two awaits
sees the rows of exactly one marker. A batch's changes are built aside (`app.engine.changes`) and
swapped in with `TaskState.swap_in` after their transaction has been committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.codecs.changelog import NULL_INTEGER, Int64s, encode_rows
from app.codecs.row_keys import encode_keys
from app.domain.marker import Marker
from app.domain.records import Value
from app.domain.source import Kind
from app.domain.view import AllTime, View

Groups = list[npt.NDArray[Any]]
"""One array per group column: int64 with NULL_INTEGER for null, or objects (str, None) for text."""

_FIRST_CAPACITY = 1024


class Rows(NamedTuple):
    """Some rows of a view: `windows` is None for all-time views; `cells` is (rows, cells) int64."""

    windows: Int64s | None
    groups: Groups
    cells: Int64s

    def __len__(self) -> int:  # rows, not fields
        return len(self.cells)


@dataclass(frozen=True, slots=True)
class ViewChange:
    """What a batch does to a view: new cells for known slots, and rows appended behind the last slot."""

    slots: npt.NDArray[np.intp]
    cells: Int64s
    new_keys: list[bytes]
    new_rows: Rows


class Snapshot:
    """Rows of one moment, copied in steps between which the state may change.

    Keys of a slot never change and new rows come behind, so only cells are copied. Before a change reaches a
    slot that is not copied yet, its cells are kept aside.
    """

    def __init__(self, rows: Rows) -> None:
        self._source = rows
        self._cells = np.empty_like(rows.cells)
        self._copied = 0
        self._kept: list[tuple[npt.NDArray[np.intp], Int64s]] = []

    def keep(self, slots: npt.NDArray[np.intp], cells: Int64s) -> None:
        """Called before the cells of some slots change."""
        later = slots[(slots >= self._copied) & (slots < len(self._cells))]
        if len(later):
            self._kept.append((later, cells[later]))

    def copy(self, step_rows: int) -> Iterator[None]:
        """Copies that many rows at a time and yields in between."""
        while self._copied < len(self._cells):
            at = slice(self._copied, self._copied + step_rows)
            self._cells[at] = self._source.cells[at]
            self._copied = min(at.stop, len(self._cells))
            yield
        while self._kept:  # the last change first, so that the oldest cells stay
            slots, cells = self._kept.pop()
            self._cells[slots] = cells

    def rows(self) -> Rows:
        """All rows, after `copy` has ended."""
        return Rows(self._source.windows, self._source.groups, self._cells)


class ViewState:
    """Rows of one view in one task, found by key or scanned by column."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.index: dict[bytes, int] = {}
        self._size = 0
        self._windows = None if isinstance(view.window, AllTime) else np.empty(_FIRST_CAPACITY, np.int64)
        self._groups: Groups = [
            np.empty(_FIRST_CAPACITY, object if view.source.by_name[g.column].kind is Kind.TEXT else np.int64)
            for g in view.groups
        ]
        self._cells: Int64s = np.empty((_FIRST_CAPACITY, len(view.cells)), np.int64)
        self._snapshots: list[Snapshot] = []

    def __len__(self) -> int:
        return self._size

    def swap_in(self, change: ViewChange) -> None:
        """Make a committed change visible."""
        for snapshot in self._snapshots:
            snapshot.keep(change.slots, self._cells)
        self._cells[change.slots] = change.cells
        self.append(change.new_keys, change.new_rows)

    def append(self, keys: Sequence[bytes], rows: Rows) -> None:
        """Add rows under keys that are not there yet."""
        start, end = self._size, self._size + len(keys)
        self._grow_to(end)
        if self._windows is not None and rows.windows is not None:
            self._windows[start:end] = rows.windows
        for held, new in zip(self._groups, rows.groups, strict=True):
            held[start:end] = new
        self._cells[start:end] = rows.cells
        self.index.update(zip(keys, range(start, end), strict=True))
        self._size = end

    def cells_at(self, slots: npt.NDArray[np.intp]) -> Int64s:
        """A copy of the cells of some slots."""
        return self._cells[slots]

    def select(
        self,
        *,
        from_us: int | None = None,
        until_us: int | None = None,
        groups: Mapping[str, Sequence[Value]] | None = None,
    ) -> Rows:
        """A copy of the rows that `find` finds."""
        return self.rows_at(self.find(from_us=from_us, until_us=until_us, groups=groups))

    def find(
        self,
        *,
        from_us: int | None = None,
        until_us: int | None = None,
        groups: Mapping[str, Sequence[Value]] | None = None,
    ) -> npt.NDArray[np.intp]:
        """Slots of rows whose window starts in `[from_us, until_us)` and whose groups are among those given.

        None for a bound leaves that side open; all-time views have no bounds. A group value None is null.
        """
        wanted = np.ones(self._size, bool)
        if self._windows is not None:
            windows = self._windows[: self._size]
            if from_us is not None:
                wanted &= windows >= from_us
            if until_us is not None:
                wanted &= windows < until_us
        for group, held in zip(self.view.groups, self._groups, strict=True):
            if groups is not None and group.name in groups:
                wanted &= np.isin(held[: self._size], _as_held(held, groups[group.name]))
        return np.flatnonzero(wanted)

    def rows_at(self, slots: npt.NDArray[np.intp]) -> Rows:
        """A copy of the rows of some slots."""
        return Rows(self.windows_at(slots), [held[slots] for held in self._groups], self._cells[slots])

    def windows_at(self, slots: npt.NDArray[np.intp]) -> Int64s | None:
        """A copy of the window starts of some slots; None for all-time views."""
        return None if self._windows is None else self._windows[slots]

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The rows of this moment, to be copied step by step while the state goes on."""
        at = slice(0, self._size)
        windows = None if self._windows is None else self._windows[at]
        snapshot = Snapshot(Rows(windows, [held[at] for held in self._groups], self._cells[at]))
        self._snapshots.append(snapshot)
        try:
            yield snapshot
        finally:
            self._snapshots.remove(snapshot)

    def stored(self) -> tuple[list[bytes], list[bytes]]:
        """Keys and values of all rows as the changelog holds them."""
        rows = self.select()
        return encode_keys(self.view, rows.windows, rows.groups, len(rows)), encode_rows(rows.cells)

    def _grow_to(self, size: int) -> None:
        if size <= len(self._cells):
            return
        capacity = max(size, 2 * len(self._cells))
        if self._windows is not None:
            self._windows = _grown(self._windows, capacity)
        self._groups = [_grown(held, capacity) for held in self._groups]
        self._cells = _grown(self._cells, capacity)


@dataclass
class TaskState:
    """A task's committed state: what queries see and what the next batch builds on.

    `marker_offset` is the offset of the marker's record in the task's changelog partition; -1 before any.
    """

    marker: Marker
    views: dict[str, ViewState]
    marker_offset: int = -1
    blocks: dict[bytes, tuple[int, int]] = field(default_factory=dict)

    @property
    def partition(self) -> int:
        return self.marker.partition


def _as_held(held: npt.NDArray[Any], values: Sequence[Value]) -> npt.NDArray[Any]:
    if held.dtype == object:
        return np.array([None if v is None else str(v) for v in values], object)
    return np.array([NULL_INTEGER if v is None else int(v) for v in values], np.int64)


def _grown(held: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
    grown = np.empty((capacity, *held.shape[1:]), held.dtype)
    grown[: len(held)] = held
    return grown
