"""A view as data: one definition that the worker, the Spark job, the oracle and HTTP all read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from app.domain import measures as m
from app.domain.errors import DefinitionError
from app.domain.source import Column, Derived, Kind, Source

WINDOW_NAME = "window_start_us"
"""What a stored row's window is called beside its groups and cells."""

SUM_BOUND = 1 << 30
"""Largest bound of a summed column: 2**33 records in one row cannot overflow 64 bits."""


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Panes `[k * size, (k + 1) * size)` of event time, aligned to the epoch, over an instant column."""

    column: str
    size_seconds: int

    @property
    def size_us(self) -> int:
        return self.size_seconds * 1_000_000


@dataclass(frozen=True, slots=True)
class AllTime:
    """One window without an end: a running total. It has no lateness and never closes."""


Window = Tumbling | AllTime


@dataclass(frozen=True, slots=True)
class Group:
    """A key column of a view, under the name that users see. Null is a group of its own."""

    name: str
    column: str


@dataclass(frozen=True)
class View:
    """What to group, over which window, and what to measure.

    `number` is never reused: it stands in every stored key. `grace_seconds`: how long after its end a
    window still takes records, in the time of their topic-partition's watermark. `retention_seconds`:
    how long after closing a row stays in the table.
    """

    number: int
    name: str
    source: Source
    groups: tuple[Group, ...]
    window: Window
    measures: tuple[m.Measure, ...]
    grace_seconds: int
    retention_seconds: int
    help: str

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise DefinitionError(f"view {self.name!r} is not usable", problems)

    @property
    def grace_us(self) -> int:
        return self.grace_seconds * 1_000_000

    @cached_property
    def parts(self) -> tuple[m.Part, ...]:
        """What a stored row holds, in order: count, fingerprint, then the measures' parts."""
        parts = [m.COUNT, m.FINGERPRINT]
        for measure in self.measures:
            nullable = not isinstance(measure, m.Count) and self.source.by_name[measure.column].nullable
            parts += m.parts_of(measure, nullable=nullable)
        return tuple(parts)

    @cached_property
    def cells(self) -> tuple[str, ...]:
        """Names of the 64-bit cells of a stored row, in order."""
        return tuple(name for part in self.parts for name in part.cells)

    @cached_property
    def neutral(self) -> tuple[int, ...]:
        """The row that no record has touched."""
        return tuple(cell for part in self.parts for cell in part.op.neutral)

    @cached_property
    def version(self) -> str:
        """Eight hex digits over all that can change its rows; a changed view is another version (rule 13)."""
        described = {
            "source": self.source.number,
            "groups": [asdict(group) for group in self.groups],
            "window": [type(self.window).__name__, asdict(self.window)],
            "grace_seconds": None if isinstance(self.window, AllTime) else self.grace_seconds,
            "skew_seconds": self.source.skew_seconds,
            "parts": [asdict(part) for part in self.parts],
            "columns": [_meaning(self.source.by_name[name]) for name in sorted(self.columns)],
            "derived": [_derivation(d) for d in self.source.derived if d.column.name in self.columns],
        }
        text = json.dumps(described, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @cached_property
    def columns(self) -> frozenset[str]:
        """Source columns (derived ones included) that the view reads."""
        names = {group.column for group in self.groups}
        names |= {part.column for part in self.parts if part.column is not None}
        if isinstance(self.window, Tumbling):
            names.add(self.window.column)
        return frozenset(names | {self.source.reported_at})

    def merge(self, left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
        """Two rows of one key as one; associative and commutative, `neutral` changes nothing."""
        merged: list[int] = []
        for part in self.parts:
            at, end = len(merged), len(merged) + part.op.width
            merged += m.merge_part(part.op, left[at:end], right[at:end])
        return tuple(merged)

    def present(self, cells: Sequence[int]) -> dict[str, Any]:
        """The measures as users see them: null where no value was seen, bins of a histogram as a list."""
        stored: Mapping[str, int] = dict(zip(self.cells, cells, strict=True))
        shown: dict[str, Any] = {}
        for measure in self.measures:
            shown |= _present(measure, stored)
        return shown


def _meaning(column: Column) -> dict[str, Any]:
    """All that the column's definition says except its help, which changes no row."""
    return {name: said for name, said in asdict(column).items() if name != "help"}


def _derivation(derived: Derived) -> dict[str, Any]:
    return {**asdict(derived), "column": derived.column.name, "how": type(derived).__name__}


def check_views(views: Iterable[View]) -> None:
    """DefinitionError if two views share a number or a name."""
    seen: dict[object, str] = {}
    problems = []
    for view in views:
        for mark in (view.number, view.name):
            if mark in seen:
                problems.append(f"{view.name} and {seen[mark]} are both {mark!r}: numbers and names are never shared")
            seen[mark] = view.name
    if problems:
        raise DefinitionError("the list of views is not usable", problems)


def _present(measure: m.Measure, stored: Mapping[str, int]) -> dict[str, Any]:
    if isinstance(measure, m.Count):
        return {measure.name: stored["count"]}
    if isinstance(measure, m.Histogram):
        return {measure.name: [stored[f"{measure.name}_{i}"] for i in range(len(measure.edges) + 1)]}
    values = m.values_name(measure.name)
    if values not in stored:
        return {measure.name: stored[measure.name]}
    empty = stored[values] == 0 and not isinstance(measure, m.Sum)
    return {measure.name: None if empty else stored[measure.name], values: stored[values]}


def _problems(view: View) -> Iterable[str]:
    known = view.source.by_name
    if not 0 < view.number < 1 << 16:
        yield f"number {view.number} is not in 1..65535"
    if view.grace_seconds < 0 or view.retention_seconds < 0:
        yield "grace_seconds and retention_seconds may not be negative"
    for group in view.groups:
        if group.column not in known:
            yield f"group {group.name!r}: no column {group.column!r} in source {view.source.name!r}"
    if isinstance(view.window, Tumbling):
        yield from _window_problems(view.window, view)
    for measure in view.measures:
        yield from _measure_problems(measure, view)
    yield from _name_problems(view)


def _name_problems(view: View) -> Iterable[str]:
    """Names that would hide one another, where rows are shown or where they are stored (docs/formats.md)."""
    groups, shown, stored = [g.name for g in view.groups], [], [part.name for part in (m.COUNT, m.FINGERPRINT)]
    for measure in view.measures:
        column = None if isinstance(measure, m.Count) else view.source.by_name.get(measure.column)
        parts = m.parts_of(measure, nullable=column is not None and column.nullable)
        values = m.values_name(measure.name)
        shown += [measure.name, *(part.name for part in parts if part.name == values)]
        stored += [cell for part in parts for cell in part.cells]
    for names in ([*groups, *shown], [WINDOW_NAME, *groups, *stored]):
        if twice := sorted({name for name in names if names.count(name) > 1}):
            yield from (f"the name {name!r} is used twice" for name in twice)
            return


def _window_problems(window: Tumbling, view: View) -> Iterable[str]:
    if window.size_seconds <= 0:
        yield f"window of {window.size_seconds} seconds"
    column = view.source.by_name.get(window.column)
    if column is None:
        yield f"window column {window.column!r} is not in source {view.source.name!r}"
    elif column.kind is not Kind.INSTANT:
        yield f"window column {window.column!r} is {column.kind}, not an instant"


def _measure_problems(measure: m.Measure, view: View) -> Iterable[str]:
    if isinstance(measure, m.Count):
        return
    column = view.source.by_name.get(measure.column)
    if column is None:
        yield f"measure {measure.name!r}: no column {measure.column!r} in source {view.source.name!r}"
        return
    if column.kind in (Kind.TEXT, Kind.FLAG):
        yield f"measure {measure.name!r}: column {column.name!r} is {column.kind}, measures are over integers"
    if isinstance(measure, m.Sum):
        if column.kind is not Kind.INTEGER:
            yield f"measure {measure.name!r}: a sum over {column.kind} {column.name!r} means nothing"
        bounds = (column.low, column.high)
        if any(bound is None or abs(bound) > SUM_BOUND for bound in bounds):
            yield f"measure {measure.name!r}: column {column.name!r} needs bounds within 2**30, has {bounds}"
    if isinstance(measure, m.Histogram) and (not measure.edges or list(measure.edges) != sorted(set(measure.edges))):
        yield f"measure {measure.name!r}: histogram edges must be given in rising order, are {measure.edges}"
