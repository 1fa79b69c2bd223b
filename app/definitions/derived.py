"""A table below `[sources.<name>.derived]` as a derived column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from app.definitions.shapes import Problems, Shape, fitted, tables
from app.domain.column import DERIVED, Addition, Coalesce, Column, Derived, Difference, Equals, Kind, widest
from app.domain.errors import did_you_mean

Values = Mapping[str, Any]
"""What is told of a column, by key."""
FLAG_BOUNDS = (0, 1)


class DifferenceShape(Shape):
    """A column that is one column minus another."""

    difference: tuple[str, str]
    help: str = ""


class CoalesceShape(Shape):
    """A column that is the first of several that is not null."""

    coalesce: tuple[str, ...]
    help: str = ""


class AdditionShape(Shape):
    """A column that is the sum of others."""

    sum: tuple[str, ...]
    help: str = ""


class EqualsShape(Shape):
    """A column that is 1 where another has this value."""

    column: str
    equals: bool | int | str
    help: str = ""


def read_derived(given: Any, columns: Sequence[Column], place: str, problems: Problems) -> list[Derived]:
    """The columns that are made of these; their mistakes are noted."""
    by_name = {column.name: column for column in columns}
    told = tables(given, place, problems).items()
    return [_one_derived(name, one, by_name, f"{place}.{name}", problems) for name, one in told]


def _one_derived(name: str, told: Any, by_name: Mapping[str, Column], place: str, problems: Problems) -> Derived:
    """The column; a stand-in if it is not right, so that views over it can be checked."""
    named = told if isinstance(told, Mapping) else {}
    kind = next((kind for word, kind in DERIVED.items() if word in named), Coalesce)
    reader = READERS[kind]
    values = fitted(reader.shape, told, place, problems)
    made_of = [values["column"]] if "column" in values else values.get(kind.key) or ()
    unknown = [base for base in made_of if base not in by_name]
    problems.note(place, *(f"no column {base!r}{did_you_mean(base, by_name)}" for base in unknown))
    bases, found = [by_name[base] for base in made_of if base in by_name], None
    if bases and not unknown and kind.key in values:
        found = reader.made(name, bases, values, place, problems)
    return found or Coalesce(Column(name, reader.stand_in, False, 0, 0), ())


def _difference(name: str, bases: Sequence[Column], values: Values, place: str, problems: Problems) -> Derived | None:
    """Its bounds follow from those of the two columns, so that sums over it are safe from overflow."""
    left, right = bases
    if {left.kind, right.kind} not in ({Kind.INTEGER}, {Kind.INSTANT}):
        problems.note(place, f"a difference of {left.kind} {left.name!r} and {right.kind} {right.name!r} means nothing")
        return None
    if left.low is None or left.high is None or right.low is None or right.high is None:
        problems.note(place, f"{left.name!r} and {right.name!r} need bounds (low and high)")
        return None
    nullable = left.nullable or right.nullable
    low, high = left.low - right.high, left.high - right.low
    return Difference(Column(name, Kind.INTEGER, nullable, low, high, values["help"]), left.name, right.name)


def _coalesce(name: str, bases: Sequence[Column], values: Values, place: str, problems: Problems) -> Derived | None:
    kinds = {base.kind for base in bases}
    if len(bases) < 2 or len(kinds) > 1 or not all(kind.is_number for kind in kinds):
        problems.note(place, f"it takes two or more numbers or instants of one kind (they are {_told(bases)})")
        return None
    low, high = widest(bases)
    column = Column(name, bases[0].kind, all(base.nullable for base in bases), low, high, values["help"])
    return Coalesce(column, tuple(base.name for base in bases))


def _added(name: str, bases: Sequence[Column], values: Values, place: str, problems: Problems) -> Derived | None:
    """Bounds as of a difference."""
    if len(bases) < 2 or any(base.kind is not Kind.INTEGER for base in bases):
        problems.note(place, f"it takes two or more integers (they are {_told(bases)})")
        return None
    lows, highs = [b.low for b in bases if b.low is not None], [b.high for b in bases if b.high is not None]
    if len(lows) < len(bases) or len(highs) < len(bases):
        problems.note(place, f"{', '.join(repr(base.name) for base in bases)} need bounds (low and high)")
        return None
    nullable = any(base.nullable for base in bases)
    column = Column(name, Kind.INTEGER, nullable, sum(lows), sum(highs), values["help"])
    return Addition(column, tuple(base.name for base in bases))


def _equals(name: str, bases: Sequence[Column], values: Values, place: str, problems: Problems) -> Derived | None:
    (base,) = bases
    found = Equals(Column(name, Kind.INTEGER, False, *FLAG_BOUNDS, values["help"]), base.name, values["equals"])
    wrong = list(found.problems({base.name: base}))
    problems.note(place, *wrong)
    return None if wrong else found


def _told(bases: Sequence[Column]) -> str:
    return ", ".join(f"{base.kind} {base.name!r}" for base in bases)


class DerivedReader(NamedTuple):
    """How a kind of derived column is read: its table, what it is made into, and the kind of one that is not right."""

    shape: type[Shape]
    made: Callable[[str, Sequence[Column], Values, str, Problems], Derived | None]
    stand_in: Kind


READERS: Mapping[type[Derived], DerivedReader] = {
    Difference: DerivedReader(DifferenceShape, _difference, Kind.INTEGER),
    Coalesce: DerivedReader(CoalesceShape, _coalesce, Kind.INSTANT),
    Addition: DerivedReader(AdditionShape, _added, Kind.INTEGER),
    Equals: DerivedReader(EqualsShape, _equals, Kind.INTEGER),
}
