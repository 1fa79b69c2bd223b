"""The kinds of figures there are: mean, ratio, difference and quantile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.domain.column import NumberUnit
from app.domain.errors import did_you_mean
from app.domain.figures.contract import Figure, FigureValue, MeasuresByName, ShownByName, ShownValues, Units
from app.domain.measures.parts import COUNT

MAX_TIMES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Mean(Figure):
    """What a sum comes to for each of its values; records without a value are not in it."""

    key = "mean"

    name: str
    of: str
    help: str = ""

    def value(self, measures: MeasuresByName, held: ShownValues) -> FigureValue:
        return measures[self.of].typical(held)

    def unit(self, units: Units) -> NumberUnit | None:
        return units[self.of] or Figure.unit(self, units)

    def problems(self, measures: MeasuresByName, shown: ShownByName) -> Iterable[str]:
        found = measures.get(self.of)
        if found is None:
            yield f"figure {self.name!r}: there is no measure {self.of!r}{did_you_mean(self.of, measures)}"
        elif not found.adds_up or found.bins:
            yield f"figure {self.name!r}: {self.of!r} is a {found.key}, a mean is of a sum"


@dataclass(frozen=True, slots=True)
class Ratio(Figure):
    """`times` x `over` / `per`, each a value that users see; null where `per` is 0.

    Sums over columns that may be null are each over the records that have a value: their ratio need not be one of any
    set of records.
    """

    key = "ratio"

    name: str
    over: str
    per: str
    times: int = 1
    help: str = ""

    def value(self, measures: MeasuresByName, held: ShownValues) -> FigureValue:
        over, per = held[self.over], held[self.per]
        return None if over is None or not per else self.times * over / per

    def problems(self, measures: MeasuresByName, shown: ShownByName) -> Iterable[str]:
        yield from _not_numbers(self, (self.over, self.per), shown)
        if not 0 < self.times <= MAX_TIMES:
            yield f"figure {self.name!r}: times {self.times} is not in 1..{MAX_TIMES}"


@dataclass(frozen=True, slots=True)
class DifferenceOf(Figure):
    """`of` less `less`, each a value that users see; null where either is."""

    key = "difference"

    name: str
    of: str
    less: str
    help: str = ""

    def value(self, measures: MeasuresByName, held: ShownValues) -> FigureValue:
        of, less = held[self.of], held[self.less]
        return None if of is None or less is None else int(of - less)

    def unit(self, units: Units) -> NumberUnit | None:
        of, less = units.get(self.of), units.get(self.less)
        if of is NumberUnit.INSTANT:
            return NumberUnit.MICROSECONDS if less is NumberUnit.INSTANT else NumberUnit.INSTANT
        return of if of is not None and of is less else Figure.unit(self, units)

    def problems(self, measures: MeasuresByName, shown: ShownByName) -> Iterable[str]:
        return _not_numbers(self, (self.of, self.less), shown)


@dataclass(frozen=True, slots=True)
class Quantile(Figure):
    """The bin of a histogram by which `percent` of its values are reached: the value is in it, no closer is known."""

    key = "quantile"
    is_number = False

    name: str
    of: str
    percent: int
    help: str = ""

    def value(self, measures: MeasuresByName, held: ShownValues) -> FigureValue:
        return measures[self.of].quantile(held[self.of], self.percent)

    def problems(self, measures: MeasuresByName, shown: ShownByName) -> Iterable[str]:
        found = measures.get(self.of)
        if found is None:
            yield f"figure {self.name!r}: there is no measure {self.of!r}{did_you_mean(self.of, measures)}"
        elif not found.bins:
            yield f"figure {self.name!r}: {self.of!r} is a {found.key}, a quantile is of a histogram"
        if not 0 < self.percent < 100:
            yield f"figure {self.name!r}: percent {self.percent} is not in 1..99"


def _not_numbers(figure: Figure, names: Iterable[str], shown: ShownByName) -> Iterable[str]:
    """What is wrong with these names as values that are one number."""
    for name in names:
        if name != COUNT.name and name not in shown:
            yield f"figure {figure.name!r}: there is no value {name!r}{did_you_mean(name, [COUNT.name, *shown])}"
        elif name in shown and shown[name].is_list:
            yield f"figure {figure.name!r}: {name!r} is a list, a {figure.key} is of numbers"


FIGURES: Mapping[str, type[Figure]] = {kind.key: kind for kind in (Mean, Ratio, DifferenceOf, Quantile)}
"""By their name in definition files."""
