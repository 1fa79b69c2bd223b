"""Sessions: what is added to those that are stored; what touches becomes one, the swallowed go by tombstone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.blobs import Blobs
from app.codecs.compiled import compiled
from app.codecs.text_column import GroupColumn, TextColumn
from app.domain.view import View
from app.engine.core.cells.mergers import merge_groups
from app.engine.core.rows.columns import Rows, ViewChange
from app.engine.core.rows.state import ViewState
from app.engine.core.rows.texts import codes_of


class Touching(NamedTuple):
    """What rows become with those that they touch: rows as they are now, rows that became part of others, and what
    that does to the state."""

    rows: Rows
    swallowed: Rows
    change: ViewChange


def touching(gap_us: int, state: ViewState, rows: Rows) -> Touching:
    """Merge rows with those of a state that they touch, and with one another."""
    slots = state.touching(rows, gap_us)
    merged = _merged(state.view, gap_us, _stacked(rows, state.rows_at(slots)))
    found = state.find_slots(merged)
    known, removed = found >= 0, slots[~np.isin(slots, found)]
    change = ViewChange(found[known], merged.cells[known], merged.at(~known), removed)
    return Touching(merged, state.rows_at(removed), change)


def _stacked(above: Rows, below: Rows) -> Rows:
    assert above.windows is not None
    assert below.windows is not None
    groups = [_joined(*pair) for pair in zip(above.groups, below.groups, strict=True)]
    windows = np.concatenate([above.windows, below.windows])
    return Rows(windows, groups, np.concatenate([above.cells, below.cells]))


def _joined(above: GroupColumn, below: GroupColumn) -> GroupColumn:
    if above.dtype != object:
        return np.concatenate([above, below])
    return TextColumn(Blobs.joined([TextColumn.of(above).utf8, TextColumn.of(below).utf8]))


def _merged(view: View, gap_us: int, rows: Rows) -> Rows:
    """Rows of one group that touch, directly or by others, as one: the earliest start, all cells merged."""
    assert rows.windows is not None
    groups = np.empty((len(rows), len(rows.groups)), np.int64)
    for at, held in enumerate(rows.groups):
        groups[:, at] = codes_of(held)
    order, numbers = np.lexsort([rows.windows, *groups.T]), np.empty(len(rows), np.int64)
    ends = np.ascontiguousarray(rows.cells[:, view.last_at])
    first = rows.at(_number_clusters(groups, rows.windows, ends, order, gap_us, numbers))
    return Rows(first.windows, first.groups, merge_groups(view, rows.cells, numbers, len(first)))


@compiled("int64[::1](int64[:,::1], int64[::1], int64[::1], int64[::1], int64, int64[::1])")
def _number_clusters(groups: Any, starts: Any, ends: Any, order: Any, gap_us: Any, numbers: Int64s) -> Any:
    """Writes the number of each row's cluster; gives the first row of each. The order is by group, then start."""
    first = np.empty(len(order), np.int64)
    count, reached_us = 0, 0
    for at in range(len(order)):
        row, begins = order[at], True
        if at > 0 and starts[row] <= reached_us + gap_us:
            begins = False
            for column in range(groups.shape[1]):
                if groups[row, column] != groups[order[at - 1], column]:
                    begins = True
        if begins:
            first[count], reached_us = row, ends[row]
            count += 1
        reached_us = max(reached_us, ends[row])
        numbers[row] = count - 1
    return first[:count].copy()
