"""Which finals a repair leaves as they are: those that were published before a row of theirs went wrong (rule 23)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from app.domain.corrections.revision import revise
from app.domain.difference import ComparedRow, RowPlace
from app.domain.rows import Cells, RowKey
from app.domain.view import View

MOST_TOGETHER = 8
"""Rows of one final of which every selection is tried; of more only none and all."""


class FinalSides(NamedTuple):
    """A final as it was published last, and as the rows of all tasks make it."""

    published: Cells
    due: Cells


def final_keys(view: View, key: RowKey) -> Iterator[RowKey]:
    """Of the finals that a task's row is merged into: window, and groups as users name them."""
    if overlap := view.window.overlap:
        assert isinstance(key.group[0], int)  # the first window of a pane, as its column says
        assert key.window_start_us is not None
        starts = overlap.windows_of(key.window_start_us, key.group[0])
        yield from (RowKey(start_us, key.group[1:]) for start_us in starts)
    else:
        yield key


def finals_without(
    view: View, wrong: Iterable[ComparedRow], finals: Mapping[RowKey, FinalSides]
) -> Mapping[RowPlace, Sequence[int]]:
    """By row, the windows whose finals do not hold what is wrong with it; `wrong`: all rows that differ.

    A final holds the faults that, put into what it should be, make what was published. One of which no selection does
    has been changed otherwise: it is taken to hold none, for no revision would set it right. A final that is not
    there is left out, as it is still to be made of the rows.
    """
    of_final: dict[RowKey, list[ComparedRow]] = defaultdict(list)
    for row in wrong:
        for key in final_keys(view, row.key):
            if key in finals:
                of_final[key].append(row)
    found: dict[RowPlace, list[int]] = defaultdict(list)
    for key, rows in of_final.items():
        held = _held(view, rows, finals[key])
        assert key.window_start_us is not None  # no final is of all time
        for at, row in enumerate(rows):
            if at not in held:
                found[row.place].append(key.window_start_us)
    return found


def _held(view: View, rows: Sequence[ComparedRow], final: FinalSides) -> Sequence[int]:
    sizes = range(len(rows) + 1) if len(rows) <= MOST_TOGETHER else (0, len(rows))
    chosen = (some for size in sizes for some in combinations(range(len(rows)), size))
    return next((some for some in chosen if _with(view, final.due, [rows[at] for at in some]) == final.published), ())


def _with(view: View, due: Cells, rows: Iterable[ComparedRow]) -> Cells | None:
    """The final with these rows as they stand, and not as they should be; None where that cannot be told."""
    made: Cells | None = due
    for row in rows:
        made = None if made is None else revise(view, made, row.recomputed, row.live)
    return made
