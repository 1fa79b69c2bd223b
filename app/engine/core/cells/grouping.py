"""Records into rows, in compiled loops: which row each belongs to, and what it adds to its cells.

The loops know parts as numbers: a row of `parts` is (op, take, column, low, high, first cell), in the order of
`app.domain.measures.parts`. `columns` and `present` have a row per column that parts read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.codecs.compiled import compiled, inlined
from app.domain.fingerprint import INT64_MAX, INT64_MIN

APPLIED, LATE, OUT_OF_SCOPE, DUPLICATE = 0, 1, 2, 3
"""What becomes of a usable record in a view, join or alert; in a view it is no duplicate."""
ADD, MIN, MAX, FIRST, LAST = range(5)
ONE, VALUE, PRESENT, BIN, STAMPED = range(5)
OPEN_LOW, OPEN_HIGH = INT64_MIN, INT64_MAX
"""Bounds of a bin that has none on that side."""

_SEED, _ONE, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT, _HIGH = np.uint64(33), np.uint64(32)


@compiled("int64[::1](int64[:,::1], int8[::1], int64[::1])")
def number_groups(keys: Int64s, fates: npt.NDArray[np.int8], numbers: Int64s) -> Int64s:
    """Writes the number of each applied record's group, -1 for the others; gives the first record of each group.

    `keys` is (records, key columns). Groups are numbered as they come.
    """
    count, width = keys.shape
    capacity = 16
    while capacity < 2 * count:
        capacity *= 2
    table = np.full(capacity, -1, np.int32)
    first = np.empty(count, np.int64)
    groups = 0
    for i in range(count):
        numbers[i] = -1
        if fates[i] != APPLIED:
            continue
        mixed = _SEED
        for column in range(width):
            mixed ^= np.uint64(keys[i, column])
            mixed = (mixed ^ (mixed >> _SHIFT)) * _ONE
            mixed = (mixed ^ (mixed >> _SHIFT)) * _OTHER
            mixed ^= mixed >> _SHIFT
        at = np.int64((mixed >> _HIGH) & np.uint64(capacity - 1))
        while True:
            group = table[at]
            if group < 0:
                table[at] = groups
                first[groups] = i
                numbers[i] = groups
                groups += 1
                break
            same = True
            for column in range(width):
                if keys[first[group], column] != keys[i, column]:
                    same = False
                    break
            if same:
                numbers[i] = group
                break
            at = (at + 1) & (capacity - 1)
    return first[:groups].copy()


@inlined
def _wins(op: Any, at: Any, origin: Any, held_at: Any, held_origin: Any) -> Any:
    """Whether a value comes before the held one, or behind it for LAST; of the same instant the origin decides."""
    if at == held_at:
        return origin < held_origin if op == FIRST else origin > held_origin
    return at < held_at if op == FIRST else at > held_at


@compiled("void(int64[::1], int64[:,::1], boolean[:,::1], int64[:,::1], int64[:,::1])")
def fold_parts(  # noqa: PLR0912 - one loop for each part: in functions of their own it takes twice as long
    numbers: Int64s, columns: Int64s, present: npt.NDArray[np.bool_], parts: Int64s, cells: Int64s
) -> None:
    """Adds each record to the cells of its group's row; `cells` (groups, cells) holds the neutral row at first.

    ValueError for a part that it has no branch for: the last would write beside its cells.
    """
    for part in range(len(parts)):
        op, take, column, low, high, cell = parts[part]
        if not (ADD <= op <= LAST and ONE <= take <= STAMPED):
            raise ValueError("no branch for this kind of part")
        for i in range(len(numbers)):
            group = numbers[i]
            if group < 0:
                continue
            if take == ONE:
                cells[group, cell] += 1
            elif not present[column, i]:
                continue
            elif take == PRESENT:
                cells[group, cell] += 1
            elif take == BIN:
                value = columns[column, i]
                if value >= low and (value < high or high == OPEN_HIGH):
                    cells[group, cell] += 1
            elif op == ADD:
                cells[group, cell] += columns[column, i]
            elif op == MIN:
                cells[group, cell] = min(cells[group, cell], columns[column, i])
            elif op == MAX:
                cells[group, cell] = max(cells[group, cell], columns[column, i])
            else:
                at, origin = columns[0, i], columns[1, i]
                if _wins(op, at, origin, cells[group, cell], cells[group, cell + 1]):
                    cells[group, cell] = at
                    cells[group, cell + 1] = origin
                    cells[group, cell + 2] = columns[column, i]


@compiled("void(int64[:,::1], int64[::1], int64[:,::1], int64[:,::1])")
def merge_parts(rows: Any, numbers: Any, into: Any, parts: Any) -> None:
    """Merges each of `rows` into the row of `into` that `numbers` names, part by part; ValueError as `fold_parts`."""
    for part in range(len(parts)):
        op, cell = parts[part, 0], parts[part, 5]
        if not ADD <= op <= LAST:
            raise ValueError("no branch for this kind of part")
        for i in range(len(rows)):
            to = numbers[i]
            if op == ADD:
                into[to, cell] += rows[i, cell]
            elif op == MIN:
                into[to, cell] = min(into[to, cell], rows[i, cell])
            elif op == MAX:
                into[to, cell] = max(into[to, cell], rows[i, cell])
            else:
                at, origin = rows[i, cell], rows[i, cell + 1]
                if _wins(op, at, origin, into[to, cell], into[to, cell + 1]):
                    into[to, cell] = at
                    into[to, cell + 1] = origin
                    into[to, cell + 2] = rows[i, cell + 2]
