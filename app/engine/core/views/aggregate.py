"""A view's rows out of a batch: the worker's translator of a view, in compiled loops over columns.

Held equal to the naive fold (`app.domain.fold`) by tests/agreement.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.codecs.avro.column_arrays import INLINE_TEXT_BYTES
from app.codecs.stored.changelog import NULL_INTEGER, Int64s
from app.domain import measures as m
from app.domain.source import Kind
from app.domain.view import AllTime, Session, View
from app.engine.core.records.usable import Usable
from app.engine.core.rows.columns import Groups, Rows
from app.engine.core.views import grouping as g
from app.engine.core.views.placing import placed

MERGERS = {m.Op.ADD: g.ADD, m.Op.MIN: g.MIN, m.Op.MAX: g.MAX, m.Op.FIRST: g.FIRST, m.Op.LAST: g.LAST}
TAKERS = {
    m.Take.ONE: g.ONE,
    m.Take.FINGERPRINT: g.VALUE,
    m.Take.VALUE: g.VALUE,
    m.Take.PRESENT: g.PRESENT,
    m.Take.BIN: g.BIN,
    m.Take.STAMPED: g.STAMPED,
}
_REPORTED_AT, _ORIGIN, _MIX, _FIRST_COLUMN = range(4)
"""Rows of what the loops read: a first or last is found by the first two, the fingerprint is summed of the third."""


class Aggregated(NamedTuple):
    """What a batch gives to a view: one row per key touched, and each usable record's fate (in their order)."""

    rows: Rows
    fates: npt.NDArray[np.int8]


def aggregate(view: View, usable: Usable) -> Aggregated:
    """Rows of the records that are in scope and in time."""
    windows, first_windows, fates = placed(view, usable)
    keys = [] if first_windows is None else [first_windows]
    keys += [column for group in view.groups for column in _key_columns(usable, group.column)]
    if isinstance(view.window, Session):
        windows = _session_starts(view.window.gap_us, keys, windows, fates)
    if not isinstance(view.window, AllTime):
        keys.append(windows)
    together = np.stack(keys, axis=1) if keys else np.empty((len(usable), 0), np.int64)
    numbers = np.empty(len(usable), np.int64)
    first = g.number_groups(together, fates, numbers)
    cells = np.tile(np.array(view.neutral, np.int64), (len(first), 1))
    columns, present = _columns(view, usable)
    g.fold_parts(numbers, columns, present, _program(view), cells)
    found = None if isinstance(view.window, AllTime) else windows[first]
    groups = [] if first_windows is None else [first_windows[first]]
    return Aggregated(Rows(found, groups + _groups(view, usable, first), cells), fates)


def merge(view: View, left: Int64s, right: Int64s) -> Int64s:
    """Two (rows, cells) arrays merged row by row, as `View.merge` does."""
    merged = np.array(left, np.int64, order="C")
    g.merge_parts(_writable(right), np.arange(len(merged)), merged, _program(view))
    return merged


def merge_groups(view: View, cells: Int64s, numbers: Int64s, count: int) -> Int64s:
    """Rows merged to one for each number in `[0, count)`; `numbers` say which row goes where."""
    merged = np.tile(np.array(view.neutral, np.int64), (count, 1))
    g.merge_parts(_writable(cells), numbers, merged, _program(view))
    return merged


def _writable(cells: Int64s) -> Int64s:
    """As the compiled loops want arrays, copied only if they are not so."""
    return np.require(cells, np.int64, ("C", "W"))


def _key_columns(usable: Usable, name: str) -> list[Int64s]:
    """Integers that are equal where the column's values are, null being a value."""
    cells = usable.column(name)
    if cells.kind is not Kind.TEXT:
        return [np.where(cells.present, cells.values[0], NULL_INTEGER)]
    views = np.where(cells.present[:, None], cells.views, -1)  # no text has a length of -1
    if not len(usable) or (views[:, 0] & 0xFFFFFFFF).astype(np.int32).max() <= INLINE_TEXT_BYTES:
        return list(views.T)
    codes: dict[str | None, int] = {}
    texts = usable.texts(name, np.arange(len(usable)))
    return [np.fromiter((codes.setdefault(text, len(codes)) for text in texts), np.int64, len(texts))]


def _session_starts(gap_us: int, keys: list[Int64s], instants: Int64s, fates: npt.NDArray[np.int8]) -> Int64s:
    """The start of the session that each applied record has with the others here."""
    starts = instants.copy()
    applied = np.flatnonzero(fates == g.APPLIED)
    order = applied[np.lexsort([instants[applied], *(key[applied] for key in keys)])]
    if len(order):
        begins = np.diff(instants[order], prepend=instants[order[0]]) > gap_us
        for key in keys:
            begins[1:] |= key[order[1:]] != key[order[:-1]]
        begins[0] = True
        starts[order] = instants[order][begins][np.cumsum(begins) - 1]
    return starts


def _columns(view: View, usable: Usable) -> tuple[Int64s, npt.NDArray[np.bool_]]:
    """What the view's parts read, by the numbers of `_program`."""
    read = [usable.column(name) for name in _read(view)]
    reported = usable.column(view.source.reported_at)
    columns = np.stack([reported.values[0], usable.origins, usable.mixes, *(cells.values[0] for cells in read)])
    always = np.ones(len(usable), np.bool_)
    return columns, np.stack([always, always, always, *(cells.present for cells in read)])


@lru_cache
def _read(view: View) -> tuple[str, ...]:
    """Columns that parts stand over, each once."""
    return tuple(dict.fromkeys(part.column for part in view.parts if part.column is not None))


@lru_cache
def _program(view: View) -> Int64s:
    """The view's parts in the numbers of `app.engine.core.views.grouping`."""
    places = {name: _FIRST_COLUMN + place for place, name in enumerate(_read(view))}
    rows, cell = [], 0
    for part in view.parts:
        column = _MIX if part.column is None else places[part.column]
        low = g.OPEN_LOW if part.low is None else part.low
        high = g.OPEN_HIGH if part.high is None else part.high
        rows.append((MERGERS[part.op], TAKERS[part.take], column, low, high, cell))
        cell += part.op.width
    return np.array(rows, np.int64)


def _groups(view: View, usable: Usable, first: Int64s) -> Groups:
    """The groups' values, from the first record of each row."""
    groups: Groups = []
    for group in view.groups:
        if view.source.by_name[group.column].kind is Kind.TEXT:
            groups.append(usable.texts(group.column, first))
        else:
            cells = usable.column(group.column)
            groups.append(np.where(cells.present[first], cells.values[0][first], NULL_INTEGER))
    return groups
