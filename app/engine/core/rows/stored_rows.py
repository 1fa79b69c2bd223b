"""Rows of a changelog into a view's state: by column where all keys have one width, one by one where texts differ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.blobs import NULL, Blobs
from app.codecs.stored.changelog import corrected_of, decode_row_matrix, odd_row, row_width
from app.codecs.stored.row_keys import decode_key_matrix, decode_keys, key_width, row_prefix
from app.domain.view import View
from app.engine.core.rows.columns import GroupColumns, Rows, ViewChange
from app.engine.core.rows.slot_index import last_of_each
from app.engine.core.rows.spans import Spans, spans_of
from app.engine.core.rows.state import ViewState

Taker = Callable[[Blobs, Blobs, Int64s], None]
"""Takes keys, values and offsets of consecutive records of one kind."""


def row_taker(state: ViewState, spans: Spans | None = None) -> Taker:
    return lambda keys, values, _: take_rows(state, keys, values, spans)


def latest(keys: Blobs, values: Blobs) -> list[tuple[bytes, bytes | None]]:
    """The last value of each key."""
    return [(key, value) for key, value in dict(zip(keys, values, strict=True)).items() if key is not None]


def take_rows(state: ViewState, keys: Blobs, values: Blobs, spans: Spans | None = None) -> None:
    """Consecutive records of the view's rows: the last of each key is the row, or a tombstone that removes it.

    `spans`, of a view whose rows merge, change with them. Of the keys, what follows the kind must be as in a row's key.
    LayoutError if they or the values are not rows.
    """
    view = state.view
    windows, groups = _keys(view, keys)
    stored = values.lengths != NULL
    cells, corrected = _cells(view, values if stored.all() else values.at(stored))
    if len(cells) == len(keys) and spans is None:
        state.put(Rows(windows, groups, cells, corrected))
        return
    marks = None if corrected is None else np.zeros(len(keys), bool)
    rows = Rows(windows, groups, np.zeros((len(keys), cells.shape[1]), np.int64), marks)
    rows.cells[stored] = cells
    if marks is not None:
        marks[stored] = corrected
    last = _last_of_each_key(keys, rows)
    rows, stored = rows.at(last), stored[last]
    slots = state.find_slots(rows)
    if spans is not None:
        spans.remove(spans_of(view, state.rows_at(slots[slots >= 0])))
        spans.add(spans_of(view, rows.at(stored)))
    none = rows.at(np.zeros(0, np.intp))
    state.swap_in(ViewChange(none.cells[:, 0], none.cells, none, slots[~stored & (slots >= 0)]))
    state.put(rows.at(stored))
    state.pack()


def _keys(view: View, keys: Blobs) -> tuple[Int64s | None, GroupColumns]:
    width, prefix = key_width(view), row_prefix(view)
    if width is not None and (keys.lengths == width).all():
        return decode_key_matrix(view, keys.matrix(width))
    return decode_keys(view, [prefix + key[len(prefix) :] for key in keys if key is not None])


def _cells(view: View, values: Blobs) -> tuple[Int64s, Mask | None]:
    width = row_width(len(view.cells))
    for value in values.at(values.lengths != width):
        raise odd_row(value or b"", len(view.cells))
    matrix = values.matrix(width)
    return decode_row_matrix(matrix), corrected_of(matrix)


def _last_of_each_key(keys: Blobs, rows: Rows) -> Int64s:
    columns = rows.groups if rows.windows is None else [rows.windows, *rows.groups]
    if all(column.dtype == np.int64 for column in columns):
        numbers = np.empty((len(rows), len(columns)), np.int64)
        for at, column in enumerate(columns):
            numbers[:, at] = column
        return last_of_each(numbers)
    return np.array(sorted({key: at for at, key in enumerate(keys)}.values()), np.int64)
