"""Measures that merge: count, sum, min, max, histogram, first and last, over integers.

A measure is stored as *parts*. A part is one cell (a signed 64-bit integer) that is added, minimised
or maximised, or three cells (event time, origin, value) of which the earlier or later triple wins.
Each part has a neutral element, so that rows merge in any order and any grouping.
Null values are skipped; a measure over a nullable column keeps its own count of values, `<name>_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from app.domain.column import Kind
from app.domain.fingerprint import signed
from app.domain.source import Source, no_column

SUM_BOUND = 1 << 30
"""Largest bound of a summed column: 2**33 records in one row cannot overflow 64 bits."""

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1


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


def _added(left: CellsOfPart, right: CellsOfPart) -> CellsOfPart:
    return (signed(left[0] + right[0]),)


class Merger(NamedTuple):
    """How two values of a part become one, in any order; and the element that changes nothing."""

    neutral: CellsOfPart
    merge: Callable[[CellsOfPart, CellsOfPart], CellsOfPart]


MERGERS: Mapping[Op, Merger] = {
    Op.ADD: Merger((0,), _added),
    Op.MIN: Merger((INT64_MAX,), min),
    Op.MAX: Merger((INT64_MIN,), max),
    Op.FIRST: Merger((INT64_MAX, INT64_MAX, INT64_MAX), min),
    Op.LAST: Merger((INT64_MIN, INT64_MIN, INT64_MIN), max),
}
"""The same for the worker's kernels: `app.engine.core.views.aggregate` and `grouping`; for answers:
`app.edge.http.rows.mergers`; for Spark: `spark_batch.folds.mergers`. A line a kind in each."""


class Take(StrEnum):
    """What one record gives to a part."""

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
        if self.op.width == 1:
            return (self.name,)
        return (f"{self.name}_at", f"{self.name}_origin", self.name)


COUNT = Part("count", Op.ADD, Take.ONE)
FINGERPRINT = Part("fingerprint", Op.ADD, Take.FINGERPRINT)


@dataclass(frozen=True, slots=True)
class Count:
    """Records applied; stored once per row whatever the number of such measures."""

    name: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Sum:
    """Sum over a column; 0 when empty."""

    name: str
    column: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Min:
    """Least value; null when empty."""

    name: str
    column: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Max:
    """Greatest value; null when empty."""

    name: str
    column: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class First:
    """Value of the earliest record by (reported_at, origin); null when empty."""

    name: str
    column: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Last:
    """Value of the latest record by (reported_at, origin); null when empty."""

    name: str
    column: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of values in fixed bins: below edges[0], [edges[i], edges[i+1]), from edges[-1] on."""

    name: str
    column: str
    edges: tuple[int, ...]
    help: str = ""


Measure = Count | Sum | Min | Max | First | Last | Histogram

_SIMPLE = {
    Sum: (Op.ADD, Take.VALUE),
    Min: (Op.MIN, Take.VALUE),
    Max: (Op.MAX, Take.VALUE),
    First: (Op.FIRST, Take.STAMPED),
    Last: (Op.LAST, Take.STAMPED),
}


def parts_of(measure: Measure, *, nullable: bool) -> tuple[Part, ...]:
    """The parts that store a measure, beside the row's own count and fingerprint."""
    if isinstance(measure, Count):
        return ()
    if isinstance(measure, Histogram):
        bounds = (None, *measure.edges, None)
        return tuple(
            Part(f"{measure.name}_{i}", Op.ADD, Take.BIN, measure.column, low, high)
            for i, (low, high) in enumerate(pairwise(bounds))
        )
    op, take = _SIMPLE[type(measure)]
    part = Part(measure.name, op, take, measure.column)
    if not nullable:
        return (part,)
    return (part, Part(values_name(measure.name), Op.ADD, Take.PRESENT, measure.column))


def values_name(name: str) -> str:
    """Name of the count of non-null values behind a measure."""
    return f"{name}_values"


def merge_part(op: Op, left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """Two values of one part merged; associative, commutative, with `op.neutral` as neutral element."""
    return MERGERS[op].merge(tuple(left), tuple(right))


def problems_of(measure: Measure, source: Source) -> Iterable[str]:
    """What is wrong with a measure over the source."""
    if isinstance(measure, Count):
        return
    column = source.by_name.get(measure.column)
    if column is None:
        yield f"measure {measure.name!r}: {no_column(measure.column, source)}"
        return
    if not column.kind.is_number:
        yield f"measure {measure.name!r}: column {column.name!r} is {column.kind}, measures are over integers"
    if isinstance(measure, Sum):
        if column.kind is not Kind.INTEGER:
            yield f"measure {measure.name!r}: a sum over {column.kind} {column.name!r} means nothing"
        bounds = (column.low, column.high)
        if any(bound is None or abs(bound) > SUM_BOUND for bound in bounds):
            yield f"measure {measure.name!r}: column {column.name!r} needs bounds within 2**30, has {bounds}"
    if isinstance(measure, Histogram) and (not measure.edges or list(measure.edges) != sorted(set(measure.edges))):
        yield f"measure {measure.name!r}: histogram edges must be given in rising order, are {measure.edges}"
