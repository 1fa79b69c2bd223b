"""Between which windows the rows of each piece of a table lie, so that a search passes over the others.

Rows come in the order of time, more or less, so a piece of 65,536 slots spans few windows.
"""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s

PIECE_SLOTS = 1 << 16
_LAST, _FIRST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


class PieceBounds:
    """Of each piece, a window start that none of its rows is below, and one that none is above; maybe too wide."""

    def __init__(self) -> None:
        self._lowest: Int64s = np.empty(0, np.int64)
        self._highest: Int64s = np.empty(0, np.int64)

    def widen(self, slots: Int64s, windows: Int64s) -> None:
        """Rows have come into these slots."""
        if not len(slots):
            return
        pieces = slots // PIECE_SLOTS
        self._reserve(int(pieces.max()) + 1)
        np.minimum.at(self._lowest, pieces, windows)
        np.maximum.at(self._highest, pieces, windows)

    def measure(self, piece: int, windows: Int64s) -> None:
        """These are all windows of the piece's rows now."""
        self._lowest[piece], self._highest[piece] = windows.min(initial=_LAST), windows.max(initial=_FIRST)

    def pieces(self, from_window: int | None, until_window: int | None) -> list[int]:
        """Pieces that may hold rows of windows in `[from_window, until_window)`; None is open."""
        maybe = self._lowest <= self._highest
        if from_window is not None:
            maybe &= self._highest >= from_window
        if until_window is not None:
            maybe &= self._lowest < until_window
        found: list[int] = np.flatnonzero(maybe).tolist()
        return found

    def __len__(self) -> int:
        return len(self._lowest)

    def enough_last(self, count: int, rows: Int64s, until_window: int | None) -> int | None:
        """A window from which on there are `count` rows and more before `until_window`; None if no pieces tell of one.

        `rows`: how many each piece holds.
        """
        whole = self._lowest <= self._highest
        if until_window is not None:
            whole &= self._highest < until_window
        pieces = np.flatnonzero(whole)
        order = pieces[np.argsort(-self._lowest[pieces])]
        return _where_enough(self._lowest[order], rows[order], count)

    def enough_first(self, count: int, rows: Int64s, from_window: int | None) -> int | None:
        """A window up to which there are `count` rows and more from `from_window` on; None if no pieces tell of one."""
        whole = self._lowest <= self._highest
        if from_window is not None:
            whole &= self._lowest >= from_window
        pieces = np.flatnonzero(whole)
        order = pieces[np.argsort(self._highest[pieces])]
        return _where_enough(self._highest[order], rows[order], count)

    def span(self) -> tuple[int, int]:
        """Bounds of all windows, the first above the last if there are none."""
        return int(self._lowest.min(initial=_LAST)), int(self._highest.max(initial=_FIRST))

    def _reserve(self, count: int) -> None:
        more = count - len(self._lowest)
        if more > 0:
            self._lowest = np.append(self._lowest, np.full(more, _LAST))
            self._highest = np.append(self._highest, np.full(more, _FIRST))


def _where_enough(ends: Int64s, rows: Int64s, count: int) -> int | None:
    """Of pieces in order the end of the one with which there are enough rows."""
    at = int(np.searchsorted(np.cumsum(rows), count))
    return int(ends[at]) if at < len(ends) else None
