"""What is asked of a figure: a number that answers work out of a row's measures, and nobody stores.

A kind is a frozen dataclass; its fields, without its name, are the keys of its table in a definition file. A figure
changes no row: it is in no version of its view, and Spark has nothing to compare.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from app.domain.column import NumberUnit, unit_of
from app.domain.measures.contract import Bin, Measure, Shown
from app.domain.source import Source

MeasuresByName = Mapping[str, Measure]
ShownByName = Mapping[str, Shown]
ShownValues = Mapping[str, Any]
"""What users see of a row's measures by name (`View.present`), and its `count`."""
FigureValue = float | Bin | None
Units = Mapping[str, NumberUnit | None]
"""Of measures, by name."""


class Figure(ABC):
    """A number made of a row's measures."""

    __slots__ = ()

    key: ClassVar[str]
    """Its `kind` in a definition file, and in answers."""
    is_number: ClassVar[bool] = True
    """Whether rows can be ranked by it; a bin has no one number."""
    name: str
    help: str

    @abstractmethod
    def value(self, measures: MeasuresByName, held: ShownValues) -> FigureValue:
        """Of one row of a view with these measures; None where it has none, as a mean of nothing."""

    def unit(self, units: Units) -> NumberUnit | None:
        """What its value is in; as its own name says, where its kind does not make it known."""
        return unit_of(self.name)

    @abstractmethod
    def problems(self, measures: MeasuresByName, shown: ShownByName) -> Iterable[str]:
        """What is wrong with it beside these measures, and what users see of them; each begins with its own name."""

    def fields(self) -> dict[str, Any]:
        """Its fields by name, as a definition file has them."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]  # each kind is a dataclass

    def document(self) -> dict[str, Any]:
        """What HTTP says of it, beside name, kind and help."""
        return {name: said for name, said in self.fields().items() if name not in ("name", "help")}


def units(measures: Iterable[Measure], figures: Iterable[Figure], source: Source) -> dict[str, NumberUnit | None]:
    """What each of them is in by its name, for who shows it; None is a plain number."""
    of_measures = {measure.name: measure.unit(source) for measure in measures}
    return of_measures | {figure.name: figure.unit(of_measures) for figure in figures}


def figure_problems(figures: Iterable[Figure], measures: Iterable[Measure], shown: Iterable[Shown]) -> Iterable[str]:
    """What is wrong with figures over these measures, of which users see so much."""
    by_name, seen = {measure.name: measure for measure in measures}, {one.name: one for one in shown}
    for figure in figures:
        yield from figure.problems(by_name, seen)
