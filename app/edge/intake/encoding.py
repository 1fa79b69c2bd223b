"""JSON to records of a topic: by the schema that its records are written with, usable by those who count them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from app.codecs.avro.from_json import JsonWriter, NotOfSchema
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.cleanliness.condition import holds
from app.domain.column import Column
from app.domain.event_time import is_skewed
from app.domain.records import Value
from app.domain.source import FIRST_INSTANT_US, LAST_INSTANT_US, Source, out_of_bounds, with_derived
from app.domain.windows.durations import SECOND_US, to_duration
from app.domain.windows.instants import to_iso
from app.edge.intake.wanted import Keyed

MOST_RECORD_BYTES = 900_000
"""A broker takes a batch of a megabyte, unless it was told otherwise; a key has MAX_TEXT_BYTES at most."""
MOST_REASONS_BYTES = 100_000
"""Of one request: why records are refused is remembered with its key, in one record."""
UNTOLD = "it is refused; send fewer such records at once to be told why"


class NoDocument(NamedTuple):
    """What was sent in the place of a document, and is none."""

    why: str


AnyJson = dict[str, Any] | list[Any] | str | int | float | None | NoDocument
"""Any JSON."""


def clock_ms() -> int:
    """By which records are stamped that are written now."""
    return time.time_ns() // 1_000_000


class Encoder:
    """Of the topics of one source."""

    def __init__(self, source: Source, now_ms: Callable[[], int] = clock_ms) -> None:
        self._source, self._now_ms = source, now_ms
        self._strict = StrictDecoder(source.columns)
        self._made = {derived.column.name: derived for derived in source.derived}

    def encode(self, writer: JsonWriter, documents: Iterable[AnyJson]) -> list[Keyed | str]:
        """Each as a record, or why it is refused."""
        return [one.why if isinstance(one, NoDocument) else self._encoded(writer, one) for one in documents]

    def _encoded(self, writer: JsonWriter, document: AnyJson) -> Keyed | str:
        try:
            value = writer.write(document)
        except NotOfSchema as error:
            return str(error)
        if len(value) > MOST_RECORD_BYTES:
            return f"it takes {len(value):,} bytes; a record has {MOST_RECORD_BYTES:,} at most"
        values = self._strict.decode(value, {writer.schema.id: writer.schema})
        if isinstance(values, Unreadable):
            return values.reason
        if (why := self._refused(values)) is not None:
            return why
        key = self._value(self._source.key, values)
        return Keyed(None if key is None else str(key).encode(), value)

    def _refused(self, values: Mapping[str, Value]) -> str | None:
        """What would send it into quarantine, in the order in which those who count it ask (`refusal`)."""
        if (name := out_of_bounds(self._source, values)) is not None:
            return _outside(self._source.by_name[name], values[name])
        if (why := self._ahead(values)) is not None:
            return why
        if not self._source.refusing:
            return None
        full = with_derived(self._source, values)
        conditions = self._source.conditions(self._source.refusing)
        return next((f"rule {name} refuses it" for name, condition in conditions if holds(condition, full)), None)

    def _ahead(self, values: Mapping[str, Value]) -> str | None:
        """Of one that lies too far ahead of the stamp that it would get: told by the columns that senders know."""
        name, skew = self._source.reported_at, self._source.skew_seconds
        reported_at_us = self._value(name, values)
        if not isinstance(reported_at_us, int) or not is_skewed(reported_at_us, self._now_ms(), skew):
            return None
        made_of = self._made[name].bases if name in self._made else (name,)
        told = next((base for base in made_of if values[base] == reported_at_us), name)
        can_be_told = FIRST_INSTANT_US <= reported_at_us <= LAST_INSTANT_US
        instant = to_iso(reported_at_us) if can_be_told else f"{reported_at_us} µs"
        bound = f"more than {to_duration(skew * SECOND_US)} ahead of the clock by which it would be written"
        return f"{told}: {instant} is {bound}"

    def _value(self, name: str, values: Mapping[str, Value]) -> Value:
        """Of any column that the source has; what rules say is only asked where it has to be, as it takes long."""
        if name in values:
            return values[name]
        made = self._made.get(name)
        return with_derived(self._source, values)[name] if made is None else made.value(values)


def _outside(column: Column, value: Value) -> str:
    told = f"a text of {len(value.encode()):,} bytes" if isinstance(value, str) else value
    return f"{column.name}: {told} is out of bounds, {_between(*column.bounds)}"


def _between(low: int | None, high: int | None) -> str:
    if low is None:
        return f"{high:,} at most"
    return f"{low:,} at least" if high is None else f"{low} to {high}"


def within_bounds(outcomes: Sequence[Keyed | str]) -> Iterator[Keyed | str]:
    """The same, with reasons as long as there is room for them; one that comes again takes none."""
    told, left = {UNTOLD}, MOST_REASONS_BYTES
    for one in outcomes:
        if isinstance(one, Keyed) or one in told:
            yield one
        elif len(one) > left:
            yield UNTOLD
        else:
            told.add(one)
            left -= len(one)
            yield one
