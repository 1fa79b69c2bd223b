"""Rows of one key as one, in columns; and a view's parts in the numbers that the compiled loops know."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.measures.parts import Op, Take
from app.domain.view import View
from app.engine.core.cells import grouping as g

MERGERS = {Op.ADD: g.ADD, Op.MIN: g.MIN, Op.MAX: g.MAX, Op.FIRST: g.FIRST, Op.LAST: g.LAST}
TAKERS = {
    Take.ONE: g.ONE,
    Take.FINGERPRINT: g.VALUE,
    Take.VALUE: g.VALUE,
    Take.PRESENT: g.PRESENT,
    Take.BIN: g.BIN,
    Take.STAMPED: g.STAMPED,
}
_REPORTED_AT, _ORIGIN, _MIX, _FIRST_COLUMN = range(4)
"""Rows of what the loops read: a first or last is found by the first two, the fingerprint is summed of the third."""


def merge(view: View, left: Int64s, right: Int64s) -> Int64s:
    """Two (rows, cells) arrays merged row by row, as `View.merge` does."""
    merged = np.array(left, np.int64, order="C")
    g.merge_parts(_writable(right), np.arange(len(merged)), merged, program(view))
    return merged


def merge_groups(view: View, cells: Int64s, numbers: Int64s, count: int) -> Int64s:
    """Rows merged to one for each number in `[0, count)`; `numbers` say which row goes where."""
    merged = np.tile(np.array(view.neutral, np.int64), (count, 1))
    g.merge_parts(_writable(cells), numbers, merged, program(view))
    return merged


def _writable(cells: Int64s) -> Int64s:
    """As the compiled loops want arrays, copied only if they are not so."""
    return np.require(cells, np.int64, ("C", "W"))


@lru_cache
def read_by(view: View) -> tuple[str, ...]:
    """Columns that parts stand over, each once."""
    return tuple(dict.fromkeys(part.column for part in view.parts if part.column is not None))


@lru_cache
def program(view: View) -> Int64s:
    """The view's parts in the numbers of `app.engine.core.cells.grouping`."""
    places = {name: _FIRST_COLUMN + place for place, name in enumerate(read_by(view))}
    rows, cell = [], 0
    for part in view.parts:
        column = _MIX if part.column is None else places[part.column]
        low = g.OPEN_LOW if part.low is None else part.low
        high = g.OPEN_HIGH if part.high is None else part.high
        rows.append((MERGERS[part.op], TAKERS[part.take], column, low, high, cell))
        cell += part.op.width
    return np.array(rows, np.int64)
