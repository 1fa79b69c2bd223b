"""The rows of one moment, or some of them, copied while the state goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.text_column import GroupColumns
from app.engine.core.rows.columns import Rows


class Snapshot:
    """Rows of one moment, copied in steps between which the state may change.

    As long as it is held no slot is used again or moved, so keys stay, of removed rows too, and only cells and marks
    change. Before a change reaches slots that are not copied yet, these are kept aside.
    """

    def __init__(self, wanted: Mask, empty: Callable[[int], Rows], rows_at: Callable[[Int64s], Rows]) -> None:
        self._wanted, self._rows_at = wanted, rows_at
        self._count = int(np.count_nonzero(wanted))
        self._whole = self._count == len(wanted)
        self._rows = empty(self._count)
        self._groups = [np.asarray(held) for held in self._rows.groups]
        self._slots = np.empty(0 if self._whole else self._count, np.int32)
        self._seen = self._copied = 0
        self._kept: list[tuple[Int64s, Int64s, Mask | None]] = []

    def keep(self, slots: Int64s, changing: Callable[[Int64s], tuple[Int64s, Mask | None]]) -> None:
        """Called before the cells of some rows change, or whether they are `corrected`."""
        later = slots[(slots >= self._seen) & (slots < len(self._wanted))]
        later = later[self._wanted[later]]
        if len(later):
            self._kept.append((later, *changing(later)))

    def copy(self, step_rows: int) -> Iterator[None]:
        """Copies that many rows at a time and yields in between."""
        while self._seen < len(self._wanted):
            until = min(self._seen + step_rows, len(self._wanted))
            self._copy(self._seen + np.flatnonzero(self._wanted[self._seen : until]))
            self._seen = until
            yield
        while self._kept:  # the last change first, so that the oldest cells stay
            slots, cells, corrected = self._kept.pop()
            at = slots if self._whole else np.searchsorted(self._slots, slots)
            self._rows.cells[at] = cells
            self._mark(at, corrected)
            yield

    def rows(self) -> Rows:
        """All rows, after `copy` has ended."""
        return self._rows

    def _copy(self, slots: Int64s) -> None:
        at = slice(self._copied, self._copied + len(slots))
        copied = self._rows_at(slots)
        if self._rows.windows is not None and copied.windows is not None:
            self._rows.windows[at] = copied.windows
        for held, group in zip(self._groups, copied.groups, strict=True):
            held[at] = group
        self._rows.cells[at] = copied.cells
        self._mark(at, copied.corrected)
        if not self._whole:
            self._slots[at] = slots
        self._copied = at.stop

    def _mark(self, at: Int64s | slice, corrected: Mask | None) -> None:
        if self._rows.corrected is None and corrected is not None:
            self._rows = self._rows.marked(np.zeros(self._count, bool))
        if self._rows.corrected is not None:
            self._rows.corrected[at] = False if corrected is None else corrected


def empty_rows(count: int, *, windowed: bool, texts: Sequence[bool], cells: int) -> Rows:
    """So many rows without values, to be filled."""
    groups: GroupColumns = [np.empty(count, object if text else np.int64) for text in texts]
    return Rows(np.empty(count, np.int64) if windowed else None, groups, np.empty((count, cells), np.int64))
