"""What rows hold: parts that merge, and what of a record goes into each.

A measure is stored as *parts*. A part is one cell (a signed 64-bit integer) that is added, minimised
or maximised, or three cells (event time, origin, value) of which the earlier or later triple wins.
Each part has a neutral element, so that rows merge in any order and any grouping.
Null values are skipped; a measure over a nullable column keeps its own count of values, `<name>_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from app.domain.fingerprint import INT64_MAX, INT64_MIN, signed


class Op(StrEnum):
    """How two values of a part become one."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    FIRST = "first"
    LAST = "last"

    @property
    def width(self) -> int:
        """Cells that a part of this kind takes."""
        return len(self.neutral)

    @property
    def neutral(self) -> tuple[int, ...]:
        """The element that changes nothing."""
        return MERGERS[self].neutral


CellsOfPart = tuple[int, ...]
MergeCells = Callable[[CellsOfPart, CellsOfPart], CellsOfPart]
ReplaceCells = Callable[[CellsOfPart, CellsOfPart, CellsOfPart], CellsOfPart | None]
"""Called with merged values, one of them, and what stands in its place."""


def _added(left: CellsOfPart, right: CellsOfPart) -> CellsOfPart:
    return (signed(left[0] + right[0]),)


def _added_instead(merged: CellsOfPart, old: CellsOfPart, new: CellsOfPart) -> CellsOfPart:
    return (signed(merged[0] - old[0] + new[0]),)


def _chosen_instead(choose: MergeCells) -> ReplaceCells:
    """For a merge that gives one of its two values: one that was not chosen is not missed."""

    def replaced(merged: CellsOfPart, old: CellsOfPart, new: CellsOfPart) -> CellsOfPart | None:
        gave_up = merged == old and choose(old, new) != new  # another's value may be the same, or the next
        return None if gave_up else choose(merged, new)

    return replaced


def _chosen_too(choose: MergeCells) -> ReplaceCells:
    """For a merge that gives one of its two values: what did not beat `old` is known to be no better, and no more."""

    def added(base: CellsOfPart, old: CellsOfPart, new: CellsOfPart) -> CellsOfPart | None:
        if new != old:
            return choose(base, new)
        return base if choose(base, old) == base else None

    return added


def _cannot_be_told(merged: CellsOfPart, old: CellsOfPart, new: CellsOfPart) -> CellsOfPart | None:
    return None


class Merger(NamedTuple):
    """How two values of a part become one, in any order; and the element that changes nothing.

    `replace` gives what merged values are with one of them, `old`, replaced: None where the three do not tell. A kind
    that does not say it can be told nothing of: its rows are published again only where they are one task's alone.
    `add` gives `base` with what was merged into `old` to make it `new`, and has the same reserve. `cells` is what its
    cells are called, behind the part's name.
    """

    neutral: CellsOfPart
    merge: MergeCells
    replace: ReplaceCells = _cannot_be_told
    add: ReplaceCells = _cannot_be_told
    cells: tuple[str, ...] = ("",)

    def replaced(self, merged: CellsOfPart, old: CellsOfPart, new: CellsOfPart) -> CellsOfPart | None:
        """`merged` with `old` replaced by `new`; None where that cannot be told."""
        if old == new:
            return merged
        return self.merge(merged, new) if old == self.neutral else self.replace(merged, old, new)


_STAMPED = ("_at", "_origin", "")
MERGERS: Mapping[Op, Merger] = {
    Op.ADD: Merger((0,), _added, _added_instead, _added_instead),
    Op.MIN: Merger((INT64_MAX,), min, _chosen_instead(min), _chosen_too(min)),
    Op.MAX: Merger((INT64_MIN,), max, _chosen_instead(max), _chosen_too(max)),
    Op.FIRST: Merger((INT64_MAX, INT64_MAX, INT64_MAX), min, _chosen_instead(min), _chosen_too(min), _STAMPED),
    Op.LAST: Merger((INT64_MIN, INT64_MIN, INT64_MIN), max, _chosen_instead(max), _chosen_too(max), _STAMPED),
}
"""The same for the worker's kernels: `app.engine.core.cells.mergers` and `grouping`; for answers:
`app.edge.http.rows.mergers`; for Spark: `spark_batch.folds.mergers`. A line a kind in each."""


class Take(StrEnum):
    """What one record gives to a part.

    Said for a single record by `app.domain.contribution`, for columns by `mergers` and `grouping` of
    `app.engine.core.cells`, for Spark by `spark_batch.folds.recompute`.
    """

    ONE = "one"  # 1 per record
    FINGERPRINT = "fingerprint"  # mix(origin)
    VALUE = "value"  # the column's value
    PRESENT = "present"  # 1 where the column is not null
    BIN = "bin"  # 1 where low <= value < high
    STAMPED = "stamped"  # (reported_at, origin, value)


@dataclass(frozen=True, slots=True)
class Part:
    """One merging part of a row. `low` and `high` bound a bin, `high` exclusive; None is open."""

    name: str
    op: Op
    take: Take
    column: str | None = None
    low: int | None = None
    high: int | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of its cells in a stored row."""
        return tuple(self.name + cell for cell in MERGERS[self.op].cells)


COUNT = Part("count", Op.ADD, Take.ONE)
FINGERPRINT = Part("fingerprint", Op.ADD, Take.FINGERPRINT)


def values_name(name: str) -> str:
    """Name of the count of non-null values behind a measure."""
    return f"{name}_values"


def merge_part(op: Op, left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """Two values of one part merged; associative, commutative, with `op.neutral` as neutral element."""
    return MERGERS[op].merge(tuple(left), tuple(right))
