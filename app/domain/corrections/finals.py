"""Which finals a repair leaves as they are: those that were published before a row of theirs went wrong (rule 23)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, compress, islice
from typing import NamedTuple

from app.domain.corrections.revision import revise
from app.domain.difference import ComparedRow, RowPlace
from app.domain.fingerprint import signed
from app.domain.measures.parts import Op
from app.domain.rows import Cells, RowKey
from app.domain.view import View

MOST_TOGETHER = 24
"""Rows of one final of which every selection is looked for; of more only none and all."""
MOST_TRIED = 4_096
"""Selections of rows that add up to what a final is off by, and are folded to see whether they make it."""


Added = tuple[int, ...]
"""What rows are off by, in cells that add up."""


class FinalSides(NamedTuple):
    """A final as it was published last, and as the rows of all tasks make it."""

    published: Cells
    due: Cells


class FinalsHeld(NamedTuple):
    """By row, the windows whose finals are right without it: they do not hold what is wrong with it. `unclear`: finals
    of which nobody can tell which faults they hold, so that they are left as they are."""

    right: Mapping[RowPlace, Sequence[int]]
    unclear: Sequence[RowKey]


def final_keys(view: View, key: RowKey) -> Iterator[RowKey]:
    """Of the finals that a task's row is merged into: window, and groups as users name them."""
    if overlap := view.window.overlap:
        assert isinstance(key.group[0], int)  # the first window of a pane, as its column says
        assert key.window_start_us is not None
        starts = overlap.windows_of(key.window_start_us, key.group[0])
        yield from (RowKey(start_us, key.group[1:]) for start_us in starts)
    else:
        yield key


def finals_held(view: View, wrong: Iterable[ComparedRow], finals: Mapping[RowKey, FinalSides]) -> FinalsHeld:
    """What finals hold of rows that differ, `wrong`, which are all that do.

    A final holds the faults that lead from what was published to what it should be, as the closing stage would revise
    it, or back again. Those of which no selection does have been changed otherwise, or have too many rows: no revision
    would set them right. A final that is not there is left out, as it is still to be made of the rows.
    """
    of_final: dict[RowKey, list[ComparedRow]] = defaultdict(list)
    for row in wrong:
        for key in final_keys(view, row.key):
            if key in finals:
                of_final[key].append(row)
    right: dict[RowPlace, list[int]] = defaultdict(list)
    unclear = list[RowKey]()
    for key, rows in of_final.items():
        held = _held(view, rows, finals[key])
        if held is None:
            unclear.append(key)
        assert key.window_start_us is not None  # no final is of all time
        for at, row in enumerate(rows):
            if at not in (held or ()):
                right[row.place].append(key.window_start_us)
    return FinalsHeld(right, unclear)


def _held(view: View, rows: Sequence[ComparedRow], final: FinalSides) -> Sequence[int] | None:
    """Which of the rows' faults it holds; None where that cannot be told."""
    some = _adding_up(view, rows, final) if len(rows) <= MOST_TOGETHER else iter([(), tuple(range(len(rows)))])
    tried = islice(some, MOST_TRIED)
    return next((chosen for chosen in tried if _leads(view, [rows[at] for at in chosen], final)), None)


def _adding_up(view: View, rows: Sequence[ComparedRow], final: FinalSides) -> Iterator[tuple[int, ...]]:
    """Selections whose faults add up to what the final is off by, where cells do: half of the rows against the others,
    as of two dozen there are millions."""
    off = [_off_by(view, row.live, row.recomputed) for row in rows]
    wanted, middle = _off_by(view, final.published, final.due), len(rows) // 2
    behind: dict[Added, list[tuple[int, ...]]] = defaultdict(list)
    for some in _selections(range(middle, len(rows))):
        behind[_sum([off[at] for at in some], len(wanted))].append(some)
    for some in _selections(range(middle)):
        missing = tuple(signed(a - b) for a, b in zip(wanted, _sum([off[at] for at in some], len(wanted)), strict=True))
        yield from (some + others for others in behind.get(missing, ()))


def _selections(places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(places, size) for size in range(len(places) + 1))


def _off_by(view: View, told: Cells | None, due: Cells | None) -> Added:
    """What has to be added to the first to make the second, in cells that add up."""
    adding = chain.from_iterable([part.op is Op.ADD] * part.op.width for part in view.parts)
    sides = zip(told or view.neutral, due or view.neutral, strict=True)
    return tuple(signed(after - before) for before, after in compress(sides, adding))


def _sum(added: Iterable[Added], width: int) -> Added:
    return tuple(signed(sum(cell)) for cell in zip((0,) * width, *added, strict=True))


def _leads(view: View, rows: Sequence[ComparedRow], final: FinalSides) -> bool:
    """Whether the rows, set right one by one, lead from the published final to the one that is due; or, set wrong,
    back: a least or greatest value that is given up can be told in one direction alone."""
    there = _with(view, final.published, ((row.live, row.recomputed) for row in rows))
    return there == final.due or _with(view, final.due, ((r.recomputed, r.live) for r in rows)) == final.published


def _with(view: View, made: Cells, replaced: Iterable[tuple[Cells | None, Cells | None]]) -> Cells | None:
    """The final with some rows in the place of others; None where that cannot be told."""
    told: Cells | None = made
    for old, new in replaced:
        told = None if told is None else revise(view, told, old, new)
    return told
