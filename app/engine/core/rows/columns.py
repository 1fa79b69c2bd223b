"""Rows of a view by column, as batches give them and tables take them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s, Mask
from app.codecs.text_column import GroupColumns


class Rows(NamedTuple):
    """Some rows of a view: `windows` is None for all-time views; `cells` is (rows, cells) int64.

    `corrected`: which of them were set by a correction; None where none of them was.
    """

    windows: Int64s | None
    groups: GroupColumns
    cells: Int64s
    corrected: Mask | None = None

    def __len__(self) -> int:  # rows, not fields
        return len(self.cells)

    def marked(self, corrected: Mask) -> Rows:
        """The same rows, these of them set by a correction."""
        return Rows(self.windows, self.groups, self.cells, corrected)

    def at(self, which: npt.NDArray[Any]) -> Rows:
        """A copy of some of them, by number or by mask."""
        windows = None if self.windows is None else self.windows[which]
        corrected = None if self.corrected is None else self.corrected[which]
        return Rows(windows, [held[which] for held in self.groups], self.cells[which], corrected)


@dataclass(frozen=True, slots=True)
class ViewChange:
    """What a batch does to a view: new cells for known slots, rows whose keys are new, and slots of rows that go.

    No slot is in both `slots` and `removed`. Rows go before the new ones come, which may have their keys.
    """

    slots: Int64s
    cells: Int64s
    new_rows: Rows
    removed: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
