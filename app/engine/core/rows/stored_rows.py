"""Rows of a changelog into a view's state, by column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.blobs import NULL, Blobs
from app.codecs.stored.changelog import corrected_of, decode_row_matrix, odd_row, row_width
from app.codecs.stored.row_key_columns import decode_key_columns
from app.domain.view import View
from app.engine.core.rows.columns import Rows, ViewChange
from app.engine.core.rows.state import ViewState
from app.engine.core.rows.texts import numbered

Taker = Callable[[Blobs, Blobs, Int64s], None]
"""Takes keys, values and offsets of consecutive records of one kind."""


def row_taker(state: ViewState) -> Taker:
    return lambda keys, values, _: take_rows(state, keys, values)


def latest(keys: Blobs, values: Blobs) -> list[tuple[bytes, bytes | None]]:
    """The last value of each key."""
    return [(key, value) for key, value in dict(zip(keys, values, strict=True)).items() if key is not None]


def take_rows(state: ViewState, keys: Blobs, values: Blobs) -> None:
    """Consecutive records of the view's rows: the last of each key is the row, or a tombstone that removes it.

    Of the keys, what follows the kind must be as in a row's key. LayoutError if they or the values are not rows.
    """
    view = state.view
    windows, groups = decode_key_columns(view, keys)
    stored = values.lengths != NULL
    cells, corrected = cells_of(view, values if stored.all() else values.at(stored))
    if len(cells) == len(keys):
        state.put(Rows(windows, groups, cells, corrected))
        return
    marks = None if corrected is None else np.zeros(len(keys), bool)
    rows = Rows(windows, groups, np.zeros((len(keys), cells.shape[1]), np.int64), marks)
    rows.cells[stored] = cells
    if marks is not None:
        marks[stored] = corrected
    last = last_of_each(keys)
    rows, stored = rows.at(last), stored[last]
    slots = state.find_slots(rows)
    none = rows.at(np.zeros(0, np.intp))
    state.swap_in(ViewChange(none.cells[:, 0], none.cells, none, slots[~stored & (slots >= 0)]))
    state.put(rows.at(stored))
    state.pack()


def cells_of(view: View, values: Blobs) -> tuple[Int64s, Mask | None]:
    """Rows in their changelog's form, and which of them a correction has set. LayoutError if one is none."""
    width = row_width(len(view.cells))
    for value in values.at(values.lengths != width):
        raise odd_row(value or b"", len(view.cells))
    matrix = values.matrix(width)
    return decode_row_matrix(matrix), corrected_of(matrix)


def last_of_each(keys: Blobs) -> Int64s:
    """Places of the keys that do not come again, rising."""
    numbers, first = numbered(keys)
    last = np.empty(len(first), np.int64)
    last[numbers] = np.arange(len(keys))  # of equal numbers numpy keeps the last
    return np.sort(last)
