"""A column of a source's record: what its values are, how far they reach, and which of others it may be made from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from app.domain.errors import did_you_mean
from app.domain.records import Value

MAX_TEXT_BYTES = (1 << 16) - 1
"""A longer text (in UTF-8) is out of bounds: keys of stored rows hold a text's length in 16 bits."""


class Kind(StrEnum):
    """What a column's values are; decides which measures may stand over it."""

    INTEGER = "integer"  # adds up: cents, counts, hundredths of a mile, lengths of time
    INSTANT = "instant"  # a point in time, microseconds since the epoch, UTC
    IDENTIFIER = "identifier"  # a number that names something
    TEXT = "text"
    FLAG = "flag"

    @property
    def python(self) -> type:
        """Of its values that are not null, exactly: a bool is an int to Python, not to Avro."""
        return TRAITS[self].python

    @property
    def is_number(self) -> bool:
        return self.python is int


class NumberUnit(StrEnum):
    """What a number that is shown is in."""

    INSTANT = "instant"  # microseconds since the epoch, UTC
    MICROSECONDS = "microseconds"  # a length of time
    CENTS = "cents"
    HUNDREDTH_MILES = "hundredth-miles"


ENDINGS: Mapping[str, NumberUnit] = {
    "_us": NumberUnit.MICROSECONDS,
    "_cents": NumberUnit.CENTS,
    "_hundredth_miles": NumberUnit.HUNDREDTH_MILES,
}
"""By what the names of columns, measures and figures end with."""


def unit_of(*names: str) -> NumberUnit | None:
    """The unit that the first of these names ends with that ends with one."""
    return next((unit for name in names for ending, unit in ENDINGS.items() if name.endswith(ending)), None)


def _utf8_bytes(text: str) -> int:
    return len(text.encode())


class Traits(NamedTuple):
    """What is told of a kind's values: their type; what bounds hold of one; the highest where a column says nothing."""

    python: type
    size: Callable[[Any], int]
    high: int | None = None


TRAITS: Mapping[Kind, Traits] = {
    Kind.INTEGER: Traits(int, int),
    Kind.INSTANT: Traits(int, int),
    Kind.IDENTIFIER: Traits(int, int),
    Kind.TEXT: Traits(str, _utf8_bytes, MAX_TEXT_BYTES),
    Kind.FLAG: Traits(bool, int),
}
"""How engines hold them: `app.codecs.column_types` (Polars, Arrow), `app.codecs.avro.column_types`, and
`spark_batch.source.column_types`; a line a kind in each."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a source's record.

    `low` and `high` are inclusive; a record with a value outside is unusable (quarantined), which is
    what makes integer sums safe from overflow. Flags have none; text has MAX_TEXT_BYTES.
    """

    name: str
    kind: Kind
    nullable: bool
    low: int | None = None
    high: int | None = None
    help: str = ""

    @property
    def bounds(self) -> tuple[int | None, int | None]:
        """Inclusive, of a number, or of a text's bytes; None is open."""
        return self.low, TRAITS[self.kind].high if self.high is None else self.high

    def unit(self, shown_as: str) -> NumberUnit | None:
        """What its values are in, where they are shown by this name: an instant whatever either is called."""
        if self.kind is Kind.INSTANT:
            return NumberUnit.INSTANT
        return unit_of(self.name, shown_as) if self.kind is Kind.INTEGER else None

    def refuses(self, value: Value) -> bool:
        """Whether a value is null where it may not be, or outside the bounds."""
        if value is None:
            return not self.nullable
        size, (low, high) = TRAITS[self.kind].size(value), self.bounds
        return (low is not None and size < low) or (high is not None and size > high)

    def meaning(self) -> dict[str, Any]:
        """All that the definition says except its help, which changes no row."""
        return {name: said for name, said in asdict(self).items() if name != "help"}


def widest(columns: Sequence[Column]) -> tuple[int | None, int | None]:
    """Bounds of a value that is one of these columns' own: a side is open where any column's is."""
    lows, highs = [column.low for column in columns], [column.high for column in columns]
    low = None if None in lows else min(low for low in lows if low is not None)
    high = None if None in highs else max(high for high in highs if high is not None)
    return low, high


class Derived(ABC):
    """A column that records do not have: it is made from others of theirs."""

    __slots__ = ()

    key: ClassVar[str]
    column: Column

    @property
    @abstractmethod
    def bases(self) -> tuple[str, ...]:
        """The columns that it is made from."""

    @property
    def chosen_from(self) -> tuple[str, ...]:
        """The columns of which it has one's value, whose bounds are its own; none where it has a value of its own."""
        return ()

    @abstractmethod
    def value(self, values: Mapping[str, Value]) -> Value:
        """Of a record with these values."""

    def problems(self, columns: Mapping[str, Column]) -> Iterable[str]:
        """What is wrong with it over these columns of records."""
        for base in self.bases:
            if base not in columns:
                yield f"column {self.column.name!r}: no column {base!r} to make it of{did_you_mean(base, columns)}"

    def meaning(self) -> dict[str, Any]:
        """How it is made: part of the versions of views that read it."""
        fields = asdict(self)  # type: ignore[call-overload]  # each kind is a dataclass
        return {**fields, "column": self.column.name, "how": type(self).__name__}


@dataclass(frozen=True, slots=True)
class Difference(Derived):
    """A derived column `left - right`; null where either is null."""

    key = "difference"
    column: Column
    left: str
    right: str

    @property
    def bases(self) -> tuple[str, ...]:
        return self.left, self.right

    def value(self, values: Mapping[str, Value]) -> Value:
        left, right = values[self.left], values[self.right]
        return left - right if isinstance(left, int) and isinstance(right, int) else None


@dataclass(frozen=True, slots=True)
class Coalesce(Derived):
    """A derived column: the first of `columns` that is not null."""

    key = "coalesce"
    column: Column
    columns: tuple[str, ...]

    @property
    def bases(self) -> tuple[str, ...]:
        return self.columns

    @property
    def chosen_from(self) -> tuple[str, ...]:
        return self.columns

    def value(self, values: Mapping[str, Value]) -> Value:
        return next((value for name in self.columns if (value := values[name]) is not None), None)


@dataclass(frozen=True, slots=True)
class Addition(Derived):
    """A derived column: the sum of `columns`; null where one of them is."""

    key = "sum"
    column: Column
    columns: tuple[str, ...]

    @property
    def bases(self) -> tuple[str, ...]:
        return self.columns

    def value(self, values: Mapping[str, Value]) -> Value:
        added = [value for name in self.columns if isinstance(value := values[name], int)]
        return sum(added) if len(added) == len(self.columns) else None


@dataclass(frozen=True, slots=True)
class Equals(Derived):
    """A derived column: 1 where `base` is `equal_to`, a number or a text of MAX_EQUAL_BYTES at most; else 0."""

    key = "equals"
    column: Column
    base: str
    equal_to: int | str

    @property
    def bases(self) -> tuple[str, ...]:
        return (self.base,)

    def value(self, values: Mapping[str, Value]) -> Value:
        return int(values[self.base] == self.equal_to)

    def problems(self, columns: Mapping[str, Column]) -> Iterable[str]:
        yield from Derived.problems(self, columns)
        base = columns.get(self.base)
        if base is not None and type(self.equal_to) is not base.kind.python:
            yield f"column {self.column.name!r}: {self.base!r} is {base.kind}, and never {self.equal_to!r}"
        if isinstance(self.equal_to, str) and len(self.equal_to.encode()) > MAX_EQUAL_BYTES:
            yield f"column {self.column.name!r}: {self.equal_to!r} has more than {MAX_EQUAL_BYTES} bytes"


MAX_EQUAL_BYTES = 12
"""Of a text in UTF-8 that others are compared with: so many stand in a column's cells themselves."""

DERIVED: Mapping[str, type[Derived]] = {kind.key: kind for kind in (Difference, Coalesce, Addition, Equals)}
"""By their word in definition files. How they are read there: `app.definitions.derived`; how columns of them are made:
`app.engine.core.records.derived`, and `spark_batch.source.derived`; a line a kind in each."""
