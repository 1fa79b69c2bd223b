"""A source: co-partitioned topics that hold one kind of record, and what their columns mean.

Rule 1 of docs/rules.md. Nothing here knows what the records are about.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

MAX_TOPIC_NUMBER = 127
"""Topic numbers share a signed 64-bit origin with partition and offset, so the top bit stays free."""


MAX_TEXT_BYTES = (1 << 16) - 1
"""A longer text (in UTF-8) is out of bounds: keys of stored rows hold a text's length in 16 bits."""


class Kind(StrEnum):
    """What a column's values are; decides which measures may stand over it."""

    INTEGER = "integer"  # adds up: cents, counts, hundredths of a mile, lengths of time
    INSTANT = "instant"  # a point in time, microseconds since the epoch, UTC
    IDENTIFIER = "identifier"  # a number that names something
    TEXT = "text"
    FLAG = "flag"


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


@dataclass(frozen=True, slots=True)
class Difference:
    """A derived column `left - right`; null where either is null."""

    column: Column
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Coalesce:
    """A derived column: the first of `columns` that is not null."""

    column: Column
    columns: tuple[str, ...]


Derived = Difference | Coalesce


@dataclass(frozen=True, slots=True)
class SourceTopic:
    """A topic of a source. `number` is never reused: it is part of every fingerprint."""

    number: int
    name: str


@dataclass(frozen=True)
class Source:
    """Topics whose equal partitions form one task.

    `skew_seconds`: how far `reported_at` may lie ahead of the record's own Kafka timestamp (rule 7).
    """

    number: int
    name: str
    topics: tuple[SourceTopic, ...]
    record: str
    columns: tuple[Column, ...]
    key: str
    reported_at: str
    id: str
    skew_seconds: int
    derived: tuple[Derived, ...] = field(default=())

    def __post_init__(self) -> None:
        numbers = [topic.number for topic in self.topics]
        if len(set(numbers)) != len(numbers) or not all(0 < n <= MAX_TOPIC_NUMBER for n in numbers):
            raise ValueError(f"source {self.name}: topic numbers must be distinct, 1 to {MAX_TOPIC_NUMBER}: {numbers}")
        for role, name in (("key", self.key), ("reported_at", self.reported_at), ("id", self.id)):
            if name not in self.by_name:
                raise ValueError(f"source {self.name}: {role} column {name!r} is not among its columns")
        if self.by_name[self.reported_at].nullable:
            raise ValueError(f"source {self.name}: reported_at column {self.reported_at!r} may not be nullable")

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """Every column, derived ones included, by name."""
        return {c.name: c for c in (*self.columns, *(d.column for d in self.derived))}

    def topic(self, name: str) -> SourceTopic:
        """The topic of that name; KeyError if it is not of this source."""
        for topic in self.topics:
            if topic.name == name:
                return topic
        raise KeyError(f"{name} is not a topic of source {self.name}: {[t.name for t in self.topics]}")
