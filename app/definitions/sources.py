"""A table below `[sources]` as a source."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from app.definitions.rules import read_rules, stand_ins
from app.definitions.shapes import Problems, Seconds, Shape, fitted, tables
from app.domain.column import DERIVED, widest
from app.domain.errors import DefinitionError, did_you_mean
from app.domain.event_time import YEAR_2000_US, YEAR_2100_US
from app.domain.source import Coalesce, Column, Derived, Difference, Kind, Rule, Source, SourceTopic

"""Bounds of an instant that has none of its own."""

BELOW = ("columns", "derived", "rules")
"""Tables below a source's own."""
ROLES = frozenset(("key", "reported_at", "id"))
CLOCK = Column("_", Kind.INSTANT, False)
"""Stands for a column that is not told, while the others are checked."""


class SourceShape(Shape):
    """`[sources.<name>]`, without its columns and rules, which are read one by one."""

    number: int
    record: str
    topics: dict[str, int]
    key: str
    reported_at: str
    id: str
    skew_seconds: Seconds
    help: str = ""


class ColumnShape(Shape):
    """`[sources.<name>.columns]`, one of them."""

    kind: Kind
    nullable: bool = False
    low: int | None = None
    high: int | None = None
    help: str = ""


class DifferenceShape(Shape):
    """A column that is one column minus another."""

    difference: tuple[str, str]
    help: str = ""


class CoalesceShape(Shape):
    """A column that is the first of several that is not null."""

    coalesce: tuple[str, ...]
    help: str = ""


@dataclass(frozen=True)
class ReadSource:
    """What a table says. `source` is None if it cannot be one; views may be checked against `columns` still.

    `columns` is None if not even those can be told.
    """

    source: Source | None
    columns: Source | None


def read_source(name: str, given: Any, place: str, problems: Problems) -> ReadSource:
    """The source of that name; its mistakes are noted."""
    before = len(problems)
    table = tables(given, place, problems)
    head = fitted(SourceShape, {k: v for k, v in table.items() if k not in BELOW}, place, problems)
    if "columns" not in table:
        problems.note(f"{place}.columns", "is missing")
    columns, all_known = _columns(table.get("columns", {}), f"{place}.columns", problems)
    known = problems if all_known else Problems()
    derived = _derived(table.get("derived", {}), columns, f"{place}.derived", known)
    asked = {column.name: column for column in (*columns, *(one.column for one in derived))}
    rules = read_rules(table.get("rules", {}), asked, f"{place}.rules", known)
    try:
        source = _source(name, head, columns, derived, rules)
    except DefinitionError as error:
        problems.note(place, *error.problems)
    else:
        if len(problems) == before:
            return ReadSource(source, source)
    return ReadSource(None, _to_check_against(name, columns, derived, rules) if all_known else None)


def _source(
    name: str, head: Mapping[str, Any], columns: Sequence[Column], derived: Sequence[Derived], rules: Sequence[Rule]
) -> Source:
    """A source; where the head lacks something, of stand-ins, so that what is there can be checked."""
    stand_ins = {"number": 1, "record": "a", "topics": {"a": 1}, "skew_seconds": 0, **dict.fromkeys(ROLES, CLOCK.name)}
    whole: dict[str, Any] = {**stand_ins, **head}
    topics = tuple(SourceTopic(number, topic) for topic, number in whole.pop("topics").items())
    clock = () if head.keys() >= ROLES else (CLOCK,)
    every = (*columns, *clock)
    return Source(name=name, topics=topics, columns=every, derived=tuple(derived), rules=tuple(rules), **whole)


def _columns(given: Any, place: str, problems: Problems) -> tuple[list[Column], bool]:
    """Columns as they are told, and whether the kinds of all are known; the others stand as instants."""
    columns, all_known = [], True
    for name, told in tables(given, place, problems).items():
        values = fitted(ColumnShape, told, f"{place}.{name}", problems)
        all_known = all_known and "kind" in values
        column = Column(name, **{"kind": Kind.INSTANT, "nullable": False, **values})
        columns.append(_bounded(column) if column.kind is Kind.INSTANT else column)
    return columns, all_known


def _bounded(column: Column) -> Column:
    low = YEAR_2000_US if column.low is None else column.low
    high = YEAR_2100_US - 1 if column.high is None else column.high
    return Column(column.name, column.kind, column.nullable, low, high, column.help)


def _derived(given: Any, columns: Sequence[Column], place: str, problems: Problems) -> list[Derived]:
    by_name = {column.name: column for column in columns}
    told = tables(given, place, problems).items()
    return [_one_derived(name, one, by_name, f"{place}.{name}", problems) for name, one in told]


def _one_derived(name: str, told: Any, by_name: Mapping[str, Column], place: str, problems: Problems) -> Derived:
    """The column; a stand-in if it is not right, so that views over it can be checked."""
    named = told if isinstance(told, Mapping) else {}
    kind = next((kind for word, kind in DERIVED.items() if word in named), Coalesce)
    reader = READERS[kind]
    values = fitted(reader.shape, told, place, problems)
    made_of = values.get(kind.key) or ()
    unknown = [base for base in made_of if base not in by_name]
    problems.note(place, *(f"no column {base!r}{did_you_mean(base, by_name)}" for base in unknown))
    bases, found = [by_name[base] for base in made_of if base in by_name], None
    if bases and not unknown:
        found = reader.made(name, bases, values["help"], place, problems)
    return found or Coalesce(Column(name, reader.stand_in, False, 0, 0), ())


def _difference(name: str, bases: Sequence[Column], help: str, place: str, problems: Problems) -> Derived | None:
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
    return Difference(Column(name, Kind.INTEGER, nullable, low, high, help), left.name, right.name)


def _coalesce(name: str, bases: Sequence[Column], help: str, place: str, problems: Problems) -> Derived | None:
    kinds = {base.kind for base in bases}
    if len(bases) < 2 or len(kinds) > 1 or not all(kind.is_number for kind in kinds):
        told = ", ".join(f"{base.kind} {base.name!r}" for base in bases)
        problems.note(place, f"it takes two or more numbers or instants of one kind (they are {told})")
        return None
    low, high = widest(bases)
    column = Column(name, bases[0].kind, all(base.nullable for base in bases), low, high, help)
    return Coalesce(column, tuple(base.name for base in bases))


class DerivedReader(NamedTuple):
    """How a kind of derived column is read: its table, what it is made into, and the kind of one that is not right."""

    shape: type[Shape]
    made: Callable[[str, Sequence[Column], str, str, Problems], Derived | None]
    stand_in: Kind


READERS: Mapping[type[Derived], DerivedReader] = {
    Difference: DerivedReader(DifferenceShape, _difference, Kind.INTEGER),
    Coalesce: DerivedReader(CoalesceShape, _coalesce, Kind.INSTANT),
}


def _to_check_against(
    name: str, columns: Sequence[Column], derived: Sequence[Derived], rules: Sequence[Rule]
) -> Source | None:
    """A source of the sound columns alone: what is wrong with the rest would be told of every view again."""
    try:
        sound = [sound for column in columns for sound in _sound(column)]
        return _alone(sound, derived, stand_ins(rules, CLOCK.name), name)
    except DefinitionError:
        return None


def _sound(column: Column) -> list[Column]:
    for one in (column, replace(column, low=None, high=None)):
        with contextlib.suppress(DefinitionError):
            _alone([one])
            return [one]
    return []


def _alone(
    columns: Sequence[Column], derived: Sequence[Derived] = (), rules: Sequence[Rule] = (), name: str = "a"
) -> Source:
    topics, by = (SourceTopic(1, "a"),), CLOCK.name
    return Source(1, name, topics, "a", (*columns, CLOCK), by, by, by, 0, tuple(derived), rules=tuple(rules))
