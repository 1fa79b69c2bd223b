"""Rows of several tasks or panes as one: the fold that every query ends with.

Order of rows: by window, then by group; null before any value, text by its place (`app.edge.http.query.text_places`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.stored.changelog import value_of
from app.codecs.text_column import GroupColumn
from app.domain.measures.parts import Op
from app.domain.records import Value
from app.domain.rows import RowKey
from app.domain.view import View
from app.edge.http.query.text_places import place_of, text_place
from app.edge.http.rows.mergers import MERGERS, Indices
from app.engine.core.rows.state import Rows


def concatenated(pieces: Sequence[Rows]) -> Rows:
    """All rows of all pieces; there must be at least one piece."""
    windows = [piece.windows for piece in pieces if piece.windows is not None]
    return Rows(
        np.concatenate(windows) if windows else None,
        [np.concatenate(held) for held in zip(*(piece.groups for piece in pieces), strict=True)],
        np.concatenate([piece.cells for piece in pieces]),
        _all_corrected(pieces),
    )


def _all_corrected(pieces: Sequence[Rows]) -> Mask | None:
    if all(piece.corrected is None for piece in pieces):
        return None
    return np.concatenate([np.zeros(len(p), bool) if p.corrected is None else p.corrected for p in pieces])


def regrouped(rows: Rows, places: Sequence[int]) -> Rows:
    """The rows without all groups but these: several may have one key now."""
    return Rows(rows.windows, [rows.groups[at] for at in places], rows.cells, rows.corrected)


def merged(view: View, rows: Rows, window_us: int | None, aligned_us: int = 0) -> Rows:
    """The rows in order, panes folded into windows of `window_us` (None: as they are), one row per key.

    One of the windows begins at `aligned_us`.
    """
    if not len(rows):
        return rows
    windows = rows.windows
    if windows is not None and window_us is not None:
        windows = (windows - aligned_us) // window_us * window_us + aligned_us
    columns = ([] if windows is None else [windows]) + [sortable(held) for held in rows.groups]
    order = np.lexsort(columns[::-1]) if columns else np.arange(len(rows))
    starts = run_starts([column[order] for column in columns], len(rows))
    first = order[starts]
    return Rows(
        None if windows is None else windows[first],
        [held[first] for held in rows.groups],
        cells_of_runs(view, rows.cells[order], starts),
        corrected_of_runs(rows, order, starts),
    )


def page(rows: Rows, after: RowKey | None, limit: int, *, newest_first: bool) -> Rows:
    """At most `limit` of the merged rows behind a place, in the order asked for."""
    size = len(rows)

    def rank_at(at: int) -> tuple[Any, ...]:
        return _rank(place_of(key_at(rows, at)))

    if newest_first:
        end = size if after is None else bisect_left(range(size), _rank(after), key=rank_at)
        return rows.at(np.arange(end - 1, max(end - limit, 0) - 1, -1))
    start = 0 if after is None else bisect_right(range(size), _rank(after), key=rank_at)
    return rows.at(np.arange(start, min(start + limit, size)))


def key_at(rows: Rows, at: int) -> RowKey:
    """The key of one row, null as None."""
    window = None if rows.windows is None else int(rows.windows[at])
    return RowKey(window, tuple(value_of(held[at]) for held in rows.groups))


def _rank(place: RowKey) -> tuple[Any, ...]:
    return (place.window_start_us or 0, *group_rank(place.group))


def group_rank(group: Iterable[Value]) -> tuple[Any, ...]:
    """By which groups are in order, of the places of their texts: null before any value."""
    return tuple((value is not None, value) for value in group)


def sortable(held: GroupColumn) -> Int64s:
    """Integers that sort as the values do; NULL_INTEGER is the least integer already."""
    if held.dtype != object:
        return np.asarray(held)
    known = sorted({value for value in held if value is not None}, key=text_place)
    rank = {None: 0} | {value: at for at, value in enumerate(known, 1)}
    return np.fromiter((rank[value] for value in held), np.int64, len(held))


def run_starts(columns: Sequence[Int64s], size: int) -> Indices:
    """Where a new key begins in sorted columns."""
    changed = np.zeros(size, bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed)


def cells_of_runs(view: View, cells: Int64s, starts: Indices) -> Int64s:
    """The cells of each run of rows as one row."""
    out = np.empty((len(starts), cells.shape[1]), np.int64)
    at = 0
    for op, width in _stretches(tuple(part.op for part in view.parts)):
        columns = slice(at, at + width)
        out[:, columns] = MERGERS[op](cells[:, columns], starts)
        at = columns.stop
    return out


def corrected_of_runs(rows: Rows, order: Int64s, starts: Indices) -> Mask | None:
    """Of which runs of the rows, in that order, one was set by a correction."""
    if rows.corrected is None:
        return None
    corrected: Mask = np.logical_or.reduceat(rows.corrected[order], starts)
    return corrected


@cache
def _stretches(ops: tuple[Op, ...]) -> list[tuple[Op, int]]:
    """What is merged by itself, and how many cells wide it is: neighbours of one cell each are merged together."""
    stretches: list[tuple[Op, int]] = []
    for op in ops:
        if op.width == 1 and stretches and stretches[-1][0] is op:
            stretches[-1] = op, stretches[-1][1] + 1
        else:
            stretches.append((op, op.width))
    return stretches
