"""How rows of an answer become one, part by part: each kind of part over many runs of rows at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.domain.measures.parts import Op

Indices = npt.NDArray[np.intp]
Merge = Callable[[Int64s, Indices], Int64s]
"""Of (rows, cells of the part) and where each run of rows starts: (runs, cells of the part)."""


def _reduced(by: np.ufunc) -> Merge:
    def merge(cells: Int64s, starts: Indices) -> Int64s:
        merged: Int64s = by.reduceat(cells, starts, axis=0)  # sums wrap, as fingerprints must
        return merged

    return merge


def _first(cells: Int64s, starts: Indices) -> Int64s:
    merged: Int64s = cells[_in_order(cells, starts)[starts]]
    return merged


def _last(cells: Int64s, starts: Indices) -> Int64s:
    lasts = starts + np.diff(starts, append=len(cells)) - 1
    merged: Int64s = cells[_in_order(cells, starts)[lasts]]
    return merged


def _in_order(cells: Int64s, starts: Indices) -> Indices:
    runs = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(cells)))
    order: Indices = np.lexsort((cells[:, 2], cells[:, 1], cells[:, 0], runs))
    return order


MERGERS: Mapping[Op, Merge] = {
    Op.ADD: _reduced(np.add),
    Op.MIN: _reduced(np.minimum),
    Op.MAX: _reduced(np.maximum),
    Op.FIRST: _first,
    Op.LAST: _last,
}
