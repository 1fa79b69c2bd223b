"""What is asked of a measure: the one contract of all kinds (rule 11).

A kind is a frozen dataclass; its fields, without its name, are the keys of its table in a definition file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, NamedTuple

from app.domain.column import NumberUnit
from app.domain.measures.parts import Part
from app.domain.source import Source, no_column


class Shown(NamedTuple):
    """A value that users see: the cell that it is, or with `is_list` the cells that lie behind one another.

    It is null where the cell `unless_zero` is 0.
    """

    name: str
    help: str
    cells: tuple[str, ...]
    is_list: bool = False
    unless_zero: str | None = None


Bin = tuple[int | None, int | None]
"""From, inclusive, and to, exclusive; None is open."""

Typical = float | Bin
"""A value that stands for many."""


class Measure(ABC):
    """What a view tells of the records that share a row."""

    __slots__ = ()

    key: ClassVar[str]
    """Its `kind` in a definition file, and in answers."""
    name: str
    help: str
    column: str | None
    """The column that it stands over; None where records themselves are counted."""
    adds_up: ClassVar[bool] = False
    """Whether a typical value can be told from what its cells come to over many rows."""

    def nullable(self, source: Source) -> bool:
        """Whether a record may have no value for it."""
        column = None if self.column is None else source.by_name.get(self.column)
        return column is not None and column.nullable

    def unit(self, source: Source) -> NumberUnit | None:
        """What its value is in; None for a plain number, as a count is."""
        return None if self.column is None else source.by_name[self.column].unit(self.name)

    @abstractmethod
    def parts(self, source: Source) -> tuple[Part, ...]:
        """The parts that store it, beside the row's own count and fingerprint."""

    @abstractmethod
    def shown(self, source: Source) -> tuple[Shown, ...]:
        """What users see of it, itself first."""

    def typical(self, totals: Mapping[str, int]) -> Typical | None:
        """Of all records whose cells come to these totals; None if none had a value. ValueError unless it adds up."""
        raise ValueError(f"{self.key} {self.name!r} does not add up")

    @property
    def bins(self) -> tuple[Bin, ...]:
        """What its values are counted by, in rising order; none where it holds no counts by value."""
        return ()

    def quantile(self, counts: Sequence[int], percent: int) -> Bin | None:
        """The first bin by which so many percent of the values are reached; None without values, or without bins."""
        seen = 0
        for held, count in zip(self.bins, counts, strict=True):
            seen += count
            if count and 100 * seen >= percent * sum(counts):
                return held
        return None

    def own_problems(self, source: Source) -> Iterable[str]:
        """What is wrong with what only this kind has, over a column that there is."""
        return ()

    def problems(self, source: Source) -> Iterable[str]:
        """What is wrong with the definition over the source; every mistake, each naming the measure."""
        if self.column is None:
            return
        column = source.by_name.get(self.column)
        if column is None:
            yield f"measure {self.name!r}: {no_column(self.column, source)}"
            return
        if not column.kind.is_number:
            yield f"measure {self.name!r}: column {column.name!r} is {column.kind}, measures are over integers"
        yield from (f"measure {self.name!r}: {problem}" for problem in self.own_problems(source))

    def fields(self) -> dict[str, Any]:
        """Its fields by name, as a definition file has them."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]  # each kind is a dataclass

    def document(self) -> dict[str, Any]:
        """What HTTP says of it, beside name, kind and help."""
        return {name: said for name, said in self.fields().items() if name not in ("name", "help")}
