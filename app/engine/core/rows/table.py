"""Rows in two arrays, keys and cells, by slot: grown and shrunk in place, slots of removed rows used again.

All is changed on one event loop. No view of an array ever leaves this module: they are moved when they grow.
"""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.engine.core.rows.piece_bounds import PIECE_SLOTS, PieceBounds
from app.engine.core.rows.slot_index import SlotIndex

_FIRST_CAPACITY = 64
_GROWTH = 1.2
_MOST_GROWTH = 1 << 19
"""Slots: new ones are filled with zeros, some 30 MB at a time."""
_MOVED_ROWS = 1 << 16
"""Rows moved with one change while a table shrinks: about 15 ms."""


class Table:
    """A (slots, key columns) and a (slots, cells) array with an index over the keys.

    A slot is a row's as long as it is held and `packed` does not move it; `alive` tells the slots that are rows.
    """

    def __init__(self, key_columns: int, cells: int, *, windowed: bool) -> None:
        self._bounds = PieceBounds()
        self._windowed = windowed
        self._keys: Int64s = np.empty((_FIRST_CAPACITY, key_columns), np.int64)
        self._cells: Int64s = np.empty((_FIRST_CAPACITY, cells), np.int64)
        self._alive: Mask = np.zeros(_FIRST_CAPACITY, bool)
        self._corrected: Mask = np.zeros(_FIRST_CAPACITY, bool)
        self._has_corrected = False
        self._index = SlotIndex()
        self._end = 0
        self._lowest_free = 0

    def __len__(self) -> int:
        return len(self._index)

    @property
    def nbytes(self) -> int:
        """Memory of all arrays, room to grow included."""
        arrays = self._keys, self._cells, self._alive, self._corrected
        return sum(held.nbytes for held in arrays) + self._index.nbytes

    @property
    def end(self) -> int:
        """All rows have slots below this one."""
        return self._end

    def find(self, keys: Int64s) -> Int64s:
        """The slot of each key, -1 where there is none."""
        return self._index.find(self._keys, keys)

    def keys(self, slots: Int64s) -> Int64s:
        """A copy of the keys of some slots."""
        return self._keys[slots]

    def key_column(self, slots: Int64s, column: int) -> Int64s:
        """A copy of one key column of some slots."""
        column_of: Int64s = self._keys[slots, column]
        return column_of

    def cells(self, slots: Int64s) -> Int64s:
        """A copy of the cells of some slots."""
        return self._cells[slots]

    def cell_column(self, slots: Int64s, column: int) -> Int64s:
        """A copy of one cell of some slots."""
        column_of: Int64s = self._cells[slots, column]
        return column_of

    def corrected(self, slots: Int64s) -> Mask | None:
        """Which of some rows were set by a correction; None where no row has been."""
        return self._corrected[slots] if self._has_corrected else None

    def alive(self) -> Mask:
        """A copy of which slots below the end are rows."""
        return self._alive[: self._end].copy()

    def mask(self, slots: Int64s) -> Mask:
        """Which slots below the end are among these."""
        wanted = np.zeros(self._end, bool)
        wanted[slots] = True
        return wanted

    def rows(self) -> Int64s:
        """Slots of all rows, rising."""
        return np.flatnonzero(self._alive[: self._end])

    def window_span(self) -> tuple[int, int]:
        """Windows, the first key column, between which all rows lie, both inclusive."""
        return self._bounds.span()

    def within(self, from_window: int | None, until_window: int | None) -> Int64s:
        """Slots of rows whose window, the first key column, is in `[from_window, until_window)`, rising."""
        found = [np.empty(0, np.int64)]
        for piece in self._bounds.pieces(from_window, until_window):
            start, end = piece * PIECE_SLOTS, min((piece + 1) * PIECE_SLOTS, self._end)
            wanted, windows = self._alive[start:end].copy(), self._keys[start:end, 0]
            if from_window is not None:
                wanted &= windows >= from_window
            if until_window is not None:
                wanted &= windows < until_window
            found.append(start + np.flatnonzero(wanted))
            if not len(found[-1]):  # in vain: its rows have changed since
                self._bounds.measure(piece, windows[self._alive[start:end]])
        return np.concatenate(found)

    def enough_last(self, count: int, until_window: int | None) -> int | None:
        """A window from which on there are `count` rows and more before `until_window`; None if that cannot be told."""
        return self._bounds.enough_last(count, self._rows_of_pieces(), until_window)

    def enough_first(self, count: int, from_window: int | None) -> int | None:
        """A window up to which there are `count` rows and more from `from_window` on; None if that cannot be told."""
        return self._bounds.enough_first(count, self._rows_of_pieces(), from_window)

    def _rows_of_pieces(self) -> Int64s:
        alive = self._alive[: self._end]
        starts = range(0, len(self._bounds) * PIECE_SLOTS, PIECE_SLOTS)
        return np.array([np.count_nonzero(alive[start : start + PIECE_SLOTS]) for start in starts], np.int64)

    def set(self, slots: Int64s, cells: Int64s) -> None:
        """New cells of rows."""
        self._cells[slots] = cells

    def add(self, keys: Int64s, cells: Int64s, corrected: Mask | None, *, reuse: bool) -> Int64s:
        """Rows whose keys are distinct and not here, and their slots. `reuse` lets them have those of removed ones."""
        slots = self._free(len(keys)) if reuse else np.arange(self._end, self._end + len(keys))
        self._reserve(max(self._end, int(slots.max(initial=-1)) + 1))
        self._keys[slots], self._cells[slots], self._alive[slots] = keys, cells, True
        self._mark(slots, corrected)
        self._index.add(self._keys, slots)
        self._note(slots)
        return slots

    def put(self, keys: Int64s, cells: Int64s, corrected: Mask | None) -> tuple[Int64s, Int64s]:
        """Rows, known or new: the last of each key counts. Gives their slots, and those of new ones, which use none
        again."""
        end = self._end
        self._reserve(end + len(keys))
        slots = self._index.put(self._keys, keys, end)
        self._cells[slots] = cells  # of equal slots numpy keeps the last
        self._mark(slots, corrected)
        self._end = int(slots.max(initial=end - 1)) + 1
        self._alive[end : self._end] = True
        new = np.arange(end, self._end)
        self._note(new)
        return slots, new

    def remove(self, slots: Int64s) -> None:
        """Rows go; keys and cells stay in their slots until these are used again."""
        self._index.remove(self._keys, slots)
        self._alive[slots] = False
        self._lowest_free = min(self._lowest_free, int(slots.min(initial=self._end)))

    def pack(self) -> list[tuple[Int64s, Int64s]]:
        """Where less than half of the slots are rows, move some of the last ones down: from which slots to which."""
        moves, moved = list[tuple[Int64s, Int64s]](), 0
        while moved < _MOVED_ROWS and 2 * len(self) < self._end:
            start = max(self._end - _MOVED_ROWS, len(self))
            rows = start + np.flatnonzero(self._alive[start : self._end])
            moves.append((rows, self._move_down(rows)))
            moved += len(rows)
            self._end = start
            self._lowest_free = min(self._lowest_free, start)
        if _FIRST_CAPACITY < len(self._alive) > 2 * self._end:
            self._resize(max(_FIRST_CAPACITY, self._end))
        return moves

    def _move_down(self, rows: Int64s) -> Int64s:
        slots = self._free(len(rows))
        self._index.move(self._keys, rows, slots)
        self._keys[slots], self._cells[slots] = self._keys[rows], self._cells[rows]
        self._corrected[slots] = self._corrected[rows]
        self._alive[slots], self._alive[rows] = True, False
        self._note(slots)
        return slots

    def _mark(self, slots: Int64s, corrected: Mask | None) -> None:
        if corrected is not None:
            self._corrected[slots], self._has_corrected = corrected, True
        elif self._has_corrected:
            self._corrected[slots] = False

    def _note(self, slots: Int64s) -> None:
        if self._windowed:
            self._bounds.widen(slots, self._keys[slots, 0])

    def _free(self, count: int) -> Int64s:
        """Slots that are no rows, the lowest ones, then such as lie behind the end."""
        free, at = [np.empty(0, np.int64)], self._lowest_free
        while count and at < self._end:
            found = at + np.flatnonzero(~self._alive[at : min(at + _MOVED_ROWS, self._end)])[:count]
            free.append(found)
            count -= len(found)
            at = int(found[-1]) + 1 if not count else at + _MOVED_ROWS
        self._lowest_free = min(at, self._end)
        return np.concatenate([*free, np.arange(self._end, self._end + count)])

    def _reserve(self, end: int) -> None:
        if end > len(self._alive):
            held = len(self._alive)
            self._resize(max(end, held + min(int(held * (_GROWTH - 1)), _MOST_GROWTH)))
        self._end = end

    def _resize(self, capacity: int) -> None:
        """In place: the system moves pages, not bytes, so no second copy of a large array is ever held."""
        for held in (self._keys, self._cells, self._alive, self._corrected):
            held.resize((capacity, *held.shape[1:]), refcheck=False)
