"""The kinds of measures there are: count, sum, min, max, first, last and histogram, over integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from app.domain.column import Kind, NumberUnit
from app.domain.measures.contract import Bin, Measure, Shown
from app.domain.measures.parts import COUNT, Op, Part, Take, values_name
from app.domain.source import Source

SUM_BOUND = 1 << 30
"""Largest bound of a summed column: 2**33 records in one row cannot overflow 64 bits."""


@dataclass(frozen=True, slots=True)
class Count(Measure):
    """Records applied; stored once per row whatever the number of such measures."""

    key = "count"
    column = None

    name: str
    help: str = ""

    def parts(self, source: Source) -> tuple[Part, ...]:
        return ()

    def shown(self, source: Source) -> tuple[Shown, ...]:
        return (Shown(self.name, self.help, (COUNT.name,)),)


@dataclass(frozen=True, slots=True)
class _OfColumn(Measure):
    """One value of a column, made from those of all records: what differs between kinds is how two become one."""

    op: ClassVar[Op]
    take: ClassVar[Take] = Take.VALUE

    name: str
    column: str
    help: str = ""

    def parts(self, source: Source) -> tuple[Part, ...]:
        part = Part(self.name, self.op, self.take, self.column)
        if not self.nullable(source):
            return (part,)
        return (part, Part(values_name(self.name), Op.ADD, Take.PRESENT, self.column))

    def shown(self, source: Source) -> tuple[Shown, ...]:
        if not self.nullable(source):
            return (Shown(self.name, self.help, (self.name,)),)
        values = values_name(self.name)
        of_nothing = None if self.op is Op.ADD else values
        return (
            Shown(self.name, self.help, (self.name,), unless_zero=of_nothing),
            Shown(values, "Values that were not null.", (values,)),
        )


@dataclass(frozen=True, slots=True)
class Sum(_OfColumn):
    """Sum over a column; 0 when empty."""

    key = "sum"
    op = Op.ADD
    adds_up = True

    def typical(self, totals: Mapping[str, int]) -> float | None:
        """The mean."""
        values = totals.get(values_name(self.name), totals[COUNT.name])
        return totals[self.name] / values if values else None

    def own_problems(self, source: Source) -> Iterable[str]:
        column = source.by_name[self.column]
        if column.kind is not Kind.INTEGER:
            yield f"a sum over {column.kind} {column.name!r} means nothing"
        elif any(bound is None or abs(bound) > SUM_BOUND for bound in (column.low, column.high)):
            has = " to ".join("none" if bound is None else f"{bound}" for bound in (column.low, column.high))
            yield f"column {column.name!r} needs bounds within 2**30, has {has}"


@dataclass(frozen=True, slots=True)
class Min(_OfColumn):
    """Least value; null when empty."""

    key = "min"
    op = Op.MIN


@dataclass(frozen=True, slots=True)
class Max(_OfColumn):
    """Greatest value; null when empty."""

    key = "max"
    op = Op.MAX


@dataclass(frozen=True, slots=True)
class First(_OfColumn):
    """Value of the earliest record by (reported_at, origin); null when empty."""

    key = "first"
    op = Op.FIRST
    take = Take.STAMPED


@dataclass(frozen=True, slots=True)
class Last(_OfColumn):
    """Value of the latest record by (reported_at, origin); null when empty."""

    key = "last"
    op = Op.LAST
    take = Take.STAMPED


@dataclass(frozen=True, slots=True)
class Histogram(Measure):
    """Counts of values in fixed bins: below edges[0], [edges[i], edges[i+1]), from edges[-1] on."""

    key = "histogram"
    adds_up = True

    name: str
    column: str
    edges: tuple[int, ...]
    help: str = ""

    @property
    def bins(self) -> tuple[Bin, ...]:
        return tuple(pairwise((None, *self.edges, None)))

    def unit(self, source: Source) -> NumberUnit | None:
        return None  # they are counts

    def parts(self, source: Source) -> tuple[Part, ...]:
        return tuple(
            Part(f"{self.name}_{i}", Op.ADD, Take.BIN, self.column, low, high)
            for i, (low, high) in enumerate(self.bins)
        )

    def shown(self, source: Source) -> tuple[Shown, ...]:
        return (Shown(self.name, self.help, tuple(part.name for part in self.parts(source)), is_list=True),)

    def typical(self, totals: Mapping[str, int]) -> Bin | None:
        """The bin of the median."""
        return self.quantile([totals[f"{self.name}_{i}"] for i in range(len(self.bins))], 50)

    def own_problems(self, source: Source) -> Iterable[str]:
        if not self.edges or list(self.edges) != sorted(set(self.edges)):
            yield f"histogram edges must be given in rising order, are {self.edges}"


MEASURES: Mapping[str, type[Measure]] = {kind.key: kind for kind in (Count, Sum, Min, Max, First, Last, Histogram)}
"""By their name in definition files."""
