"""A source: co-partitioned topics that hold one kind of record, and what their columns mean.

Rule 1 of docs/rules.md. Nothing here knows what the records are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from app.domain.cleanliness.condition import Condition, holds
from app.domain.cleanliness.rule import Action, Refusing, Rule, condition_of, refusing, rule_problems
from app.domain.column import MAX_TEXT_BYTES, Coalesce, Column, Derived, Difference, Kind, widest
from app.domain.errors import DefinitionError, did_you_mean
from app.domain.event_time import EARLIEST_US, LATEST_US
from app.domain.fingerprint import INT64_MAX
from app.domain.records import Value

__all__ = [
    "MAX_TEXT_BYTES",
    "Action",
    "Coalesce",
    "Column",
    "Derived",
    "Difference",
    "Kind",
    "Rule",
    "Source",
    "SourceTopic",
]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""What a source, topic or view may be called: it stands in names of topics, which Kafka bounds so, and in addresses."""

AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What Avro allows as the name of a record or field."""

PLACE_NAMES = re.compile(
    r"topic|topic_number|partition|offset|timestamp_ms|key|value|header|body|reason|suspect|task|fate|origin|chunk|"
    r"window_start_us|watermark_us|skew_us|refused_by|stamp_us|highest_us|carried_us|is_record|mixed_(upper|lower)|"
    r"usable_today|judged_fate|survives|is_(held|added|large|usable|settled)|(record|group|cell)_[0-9]+",
    re.IGNORECASE,
)
"""What a record's place and fate are called beside its columns, so that no column may be; SQL minds no case."""

FIRST_INSTANT_US, LAST_INSTANT_US = -62_072_524_800_000_000, 253_339_228_799_999_999
"""The years 3 to 9997: so far an instant, and a window of a year around it, can be written by ISO 8601."""

MAX_TOPIC_NUMBER = 127
"""Topic numbers share a signed 64-bit origin with partition and offset, so the top bit stays free."""


@dataclass(frozen=True, slots=True)
class SourceTopic:
    """A topic of a source. `number` is never reused: it is part of every fingerprint."""

    number: int
    name: str


@dataclass(frozen=True)
class Source:
    """Topics whose equal partitions form one task.

    `skew_seconds`: how far `reported_at` may lie ahead of the record's own Kafka timestamp (rule 7). `rules`: what is
    odd about a record, each a column of 0 and 1 beside the others. `told_apart_by`: columns by which records of one id
    are several all the same, as the start and the end of a ride; two that are alike in these too are duplicates
    (rule 26).
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
    help: str = ""
    rules: tuple[Rule, ...] = ()
    told_apart_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise DefinitionError(f"source {self.name!r} is not usable", problems)

    def __hash__(self) -> int:  # of what tells sources apart: all columns take long, and they are looked up by batch
        return hash((self.number, self.name))

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """Every column, derived ones and those of rules included, by name."""
        return self.asked | {rule.name: rule.column for rule in self.rules}

    @cached_property
    def asked(self) -> dict[str, Column]:
        """The columns that rules may ask about, by name: derived ones included."""
        return {c.name: c for c in (*self.columns, *(d.column for d in self.derived))}

    @cached_property
    def refusing(self) -> tuple[Refusing, ...]:
        """The rules by which records are quarantined."""
        return refusing(self.rules)

    def conditions(self, refusing: Iterable[Refusing]) -> tuple[tuple[str, Condition], ...]:
        """Name and condition of rules that are or were its own; StateError if one asks for a column that is gone."""
        asked = frozenset(self.asked)
        return tuple((one.rule, condition_of(one, asked)) for one in refusing)

    def rules_in(self, names: Iterable[str]) -> tuple[Rule, ...]:
        """Those rules whose columns are among these."""
        wanted = frozenset(names)
        return tuple(rule for rule in self.rules if rule.name in wanted)

    @property
    def instants_us(self) -> tuple[int, int]:
        """What a watermark may be: from the first to the last instant of which something may be reported.

        Never beyond the years for which there are calendars, whatever the column's bounds.
        """
        column = self.by_name[self.reported_at]
        low, high = column.low, column.high
        return (
            EARLIEST_US if low is None else max(low, EARLIEST_US),
            LATEST_US if high is None else min(high, LATEST_US),
        )

    def may_reach(self, watermark_us: int) -> bool:
        """Whether a watermark can stand there: wider than `instants_us`, as the bounds may have been others."""
        high = self.by_name[self.reported_at].high
        return high is None or watermark_us <= max(high, LATEST_US)

    def bounds(self, name: str) -> tuple[int | None, int | None]:
        """Between which values a usable record can have in a column, both inclusive; None for a side without."""
        chosen_from = next((one.chosen_from for one in self.derived if one.column.name == name), ())
        return widest([self.by_name[column] for column in chosen_from or (name,)])

    def is_same_record(self, other: Source) -> bool:
        """Whether both are of the same topics and columns, whatever else is derived from them."""
        return (self.topics, self.columns) == (other.topics, other.columns)

    def topic(self, name: str) -> SourceTopic:
        """The topic of that name; KeyError if it is not of this source."""
        for topic in self.topics:
            if topic.name == name:
                return topic
        raise KeyError(f"{name} is not a topic of source {self.name}: {[t.name for t in self.topics]}")


def _problems(source: Source) -> Iterable[str]:
    if not NAME.fullmatch(source.name):
        yield f"name {source.name!r}: it stands in topics; letters, digits, '.', '_' and '-', 100 at most"
    if not 0 < source.number < 1 << 16:
        yield f"number {source.number} is not in 1..65535"
    if not AVRO_NAME.fullmatch(source.record):
        yield f"record {source.record!r} is no name of an Avro record: letters, digits and '_'"
    if source.skew_seconds < 0:
        yield "skew_seconds may not be negative"
    yield from _topic_problems(source)
    derived = [one.column for one in source.derived]
    names = [column.name for column in (*source.columns, *derived, *(rule.column for rule in source.rules))]
    folded = [name.lower() for name in names]  # SQL minds no case
    yield from (f"two columns are called {name!r}" for name in sorted({n for n in folded if folded.count(n) > 1}))
    for column in source.columns:
        yield from (f"column {column.name!r}: {problem}" for problem in _column_problems(column))
    own = {column.name: column for column in source.columns}
    yield from (problem for one in source.derived for problem in one.problems(own))
    for rule in source.rules:
        problems = (*_name_problems(rule.name), *rule_problems(rule, source.asked))
        yield from (f"rule {rule.name!r}: {problem}" for problem in problems)
    yield from _role_problems(source)


def _topic_problems(source: Source) -> Iterable[str]:
    numbers = [topic.number for topic in source.topics]
    if not numbers:
        yield "it has no topic"
    if len(set(numbers)) != len(numbers) or not all(0 < n <= MAX_TOPIC_NUMBER for n in numbers):
        yield f"topic numbers must be distinct, 1 to {MAX_TOPIC_NUMBER}: {numbers}"
    for topic in source.topics:
        if not NAME.fullmatch(topic.name):
            yield f"topic {topic.name!r}: letters, digits, '.', '_' and '-', 100 at most"


def _name_problems(name: str) -> Iterable[str]:
    if not AVRO_NAME.fullmatch(name):
        yield "no name of an Avro field: letters, digits and '_'"
    if PLACE_NAMES.fullmatch(name):
        yield "a record's place is called so beside its columns; leave it out, or name the field differently"


def _column_problems(column: Column) -> Iterable[str]:
    yield from _name_problems(column.name)
    bounds = [bound for bound in (column.low, column.high) if bound is not None]
    if bounds and not column.kind.is_number:
        yield f"low and high are for numbers, and it is {column.kind}"
    if any(abs(bound) > INT64_MAX for bound in bounds):
        yield f"bounds {bounds} do not fit into 64 bits"
    if column.kind is Kind.INSTANT and any(not FIRST_INSTANT_US <= bound <= LAST_INSTANT_US for bound in bounds):
        yield f"bounds {bounds} of an instant are microseconds since the epoch, in the years 3 to 9997"
    if bounds != sorted(bounds):
        yield f"low {column.low} is above high {column.high}"


def _role_problems(source: Source) -> Iterable[str]:
    for role, name in (("key", source.key), ("reported_at", source.reported_at), ("id", source.id)):
        if name not in source.by_name:
            yield f"{role} column {name!r} is not among its columns{did_you_mean(name, source.by_name)}"
    for name in source.told_apart_by:
        if name not in source.asked:
            yield f"told_apart_by column {name!r} is not among its columns{did_you_mean(name, source.asked)}"
    reported_at = source.by_name.get(source.reported_at)
    if reported_at is not None and reported_at.kind is not Kind.INSTANT:
        yield f"reported_at column {source.reported_at!r} is {reported_at.kind}, not an instant"
    if reported_at is not None and reported_at.nullable:
        yield f"reported_at column {source.reported_at!r} may not be nullable"


def with_derived(source: Source, values: Mapping[str, Value]) -> dict[str, Value]:
    """The record's values with the source's derived columns added, and those of its rules, as far as the values tell:
    of a record that was recounted for a view only what the view reads is known."""
    full = dict(values)
    for derived in source.derived:
        full[derived.column.name] = derived.value(full)
    told = (rule for rule in source.rules if rule.columns <= full.keys())
    return full | {rule.name: int(holds(rule.condition, full)) for rule in told}


def out_of_bounds(source: Source, values: Mapping[str, Value]) -> str | None:
    """Name of the first column, in the record's order, whose value its bounds refuse; None if all are fine."""
    return next((column.name for column in source.columns if column.refuses(values[column.name])), None)


def no_column(name: str, source: Source) -> str:
    """That the source has no such column, and which one may be meant."""
    return f"no column {name!r} in source {source.name!r}{did_you_mean(name, source.by_name)}"
