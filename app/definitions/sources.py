"""A table below `[sources]` as a source."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.definitions.derived import read_derived
from app.definitions.rules import read_rules, stand_ins
from app.definitions.shapes import Problems, Seconds, Shape, fitted, tables
from app.domain.errors import DefinitionError
from app.domain.event_time import YEAR_2000_US, YEAR_2100_US
from app.domain.measures.kinds import SUM_BOUND
from app.domain.source import Column, Derived, Kind, Rule, Source, SourceTopic

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
    told_apart_by: tuple[str, ...] = ()
    help: str = ""


class ColumnShape(Shape):
    """`[sources.<name>.columns]`, one of them."""

    kind: Kind
    nullable: bool = False
    low: int | None = None
    high: int | None = None
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
    derived = read_derived(table.get("derived", {}), columns, f"{place}.derived", known)
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
    for one in (column, replace(column, low=-SUM_BOUND, high=SUM_BOUND), replace(column, low=None, high=None)):
        with contextlib.suppress(DefinitionError):
            _alone([one])
            return [one]
    return []


def _alone(
    columns: Sequence[Column], derived: Sequence[Derived] = (), rules: Sequence[Rule] = (), name: str = "a"
) -> Source:
    topics, by = (SourceTopic(1, "a"),), CLOCK.name
    return Source(1, name, topics, "a", (*columns, CLOCK), by, by, by, 0, tuple(derived), rules=tuple(rules))
