"""Records of one topic that take part in a join or an alert: which they are, what names them, when they happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.domain.records import Value
from app.domain.source import Kind, Source


@dataclass(frozen=True, slots=True)
class Only:
    """A selection: records in which a column has one of some values. Null is none of them."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Half:
    """One side of a join: a topic of a source, what names a record there, and when it happened.

    `only`: the records that are meant; others are out of scope.
    """

    source: Source
    topic: str
    id: str
    at: str
    only: Only | None = None

    @property
    def columns(self) -> frozenset[str]:
        """Columns that say whether a record is meant, which one it is and when it happened."""
        return frozenset((self.id, self.at) if self.only is None else (self.id, self.at, self.only.column))

    def takes(self, values: Mapping[str, Value]) -> bool:
        """Whether a record is meant: selected, named and with a time."""
        selected = self.only is None or values[self.only.column] in self.only.values
        return selected and values[self.id] is not None and values[self.at] is not None


def half_problems(what: str, half: Half) -> Iterator[str]:
    """Every mistake of a half; `what` names it."""
    if half.topic not in {topic.name for topic in half.source.topics}:
        yield f"{what}: {half.topic!r} is not a topic of source {half.source.name!r}"
    for name, kinds in ((half.id, (Kind.TEXT, Kind.IDENTIFIER)), (half.at, (Kind.INSTANT,))):
        column = half.source.by_name.get(name)
        if column is None:
            yield f"{what}: no column {name!r} in source {half.source.name!r}"
        elif column.kind not in kinds:
            yield f"{what}: column {name!r} is {column.kind}, not {' or '.join(kinds)}"
    if half.only is not None:
        yield from _only_problems(what, half.source, half.only)


def selection_problems(one: str, first: Half, other: str, second: Half) -> Iterator[str]:
    """Why two halves of one topic cannot be told apart; nothing if no record can be both."""
    if first.only is None or second.only is None:
        yield f"{one} and {other} are both topic {first.topic!r}: say with Only(column, values) which records each is"
    elif first.only.column != second.only.column:
        yield (
            f"{one} and {other} are selected from topic {first.topic!r} by two columns, {first.only.column!r} and "
            f"{second.only.column!r}: one record could be both"
        )
    elif both := [value for value in first.only.values if value in second.only.values]:
        yield f"{one} and {other} both select {first.only.column!r} = {', '.join(map(repr, both))}"


def _only_problems(what: str, source: Source, only: Only) -> Iterator[str]:
    column = source.by_name.get(only.column)
    if column is None:
        yield f"{what}: selected by {only.column!r}, which is no column of source {source.name!r}"
        return
    if not only.values:
        yield f"{what}: selected by no value of {only.column!r}"
    wanted = column.kind.python
    if column.kind is Kind.INSTANT:
        yield f"{what}: column {only.column!r} is {column.kind}, by which nothing is selected"
        return
    for value in only.values:
        if type(value) is not wanted:
            yield f"{what}: column {only.column!r} is {column.kind}; {value!r} is no {wanted.__name__}"
