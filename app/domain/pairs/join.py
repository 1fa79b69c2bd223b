"""A join as data: records of two topics that mean the same thing meet once (rule 18).

Both sides are topics of one task, or two selections of one topic. A record is late by its own topic-partition's
prefix; of one id the first record of a side counts, and what follows within the time in which it could still meet
somebody is a duplicate. A half that nobody can meet any more leaves unmatched, when the *lower* of the two watermarks
says so. So matches, duplicates and unmatched halves depend on the two prefixes alone, not on how they were interleaved.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

from app.domain.errors import DefinitionError
from app.domain.fingerprint import Origin, pack
from app.domain.pairs.half import Half, Only, half_problems, selection_problems
from app.domain.pairs.joined import LEFT_ORIGIN, RIGHT_ORIGIN, Either, JoinKind, Side, Taken, joined_column, taken_of
from app.domain.pairs.pairing import Pairing
from app.domain.records import Value
from app.domain.source import Column, Kind, Source, SourceTopic

__all__ = ["LEFT_ORIGIN", "RIGHT_ORIGIN", "Either", "Half", "Join", "JoinKind", "Only", "Side", "Taken"]


@dataclass(frozen=True)
class Join(Pairing):
    """Which halves meet (same id, at most `bound_seconds` apart), and what the joined record holds.

    `output` is the topic it goes to, with its number as part of fingerprints. `number` is never reused. Of a LEFT or
    OUTER join the record of a half that nobody met has null in the other side's columns.
    """

    sends_unmatched = True
    origins = (LEFT_ORIGIN, RIGHT_ORIGIN)
    words = ("a", "join", "sides")

    number: int
    name: str
    left: Half
    right: Half
    bound_seconds: int
    grace_seconds: int
    columns: tuple[Taken | Either, ...]
    key: str
    reported_at: str
    output: SourceTopic
    help: str
    kind: JoinKind = JoinKind.INNER

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise DefinitionError(f"join {self.name!r} is not usable", problems)

    @property
    def bound_us(self) -> int:
        return self.bound_seconds * 1_000_000

    @property
    def grace_us(self) -> int:
        return self.grace_seconds * 1_000_000

    @property
    def unmatched_after_us(self) -> int:
        """How far the lower watermark must be past a half's time for nobody to meet it any more."""
        return self.bound_us + self.grace_us

    @property
    def waits_us(self) -> int:
        return self.unmatched_after_us

    @property
    def remembered_us(self) -> int:
        """How long, by its own side's watermark, an id is taken: so long that two of one id never share a match."""
        return 2 * self.bound_us + self.grace_us

    def half(self, side: Side) -> Half:
        return self.left if side is Side.LEFT else self.right

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics it reads, each once."""
        return tuple(dict.fromkeys(self.half(side).topic for side in Side))

    def needed(self, side: Side) -> tuple[str, ...]:
        """Columns of a side that joined records hold."""
        return tuple(dict.fromkeys(name for taken in self.columns if (name := taken_of(taken, side)) is not None))

    def column(self, taken: Taken | Either) -> Column:
        """What a column of the joined record may hold."""
        return joined_column(taken, {side: self.half(side) for side in Side}, self.kind, self.reported_at)

    def origin(self, side: Side, partition: int, offset: int) -> int:
        """The packed origin of a half."""
        half = self.half(side)
        return pack(Origin(half.source.topic(half.topic).number, partition, offset))

    @cached_property
    def source(self) -> Source:
        """The joined records as a source: views over it read them like any other."""
        columns = tuple(self.column(taken) for taken in self.columns)
        named = zip((LEFT_ORIGIN, RIGHT_ORIGIN), Side, strict=True)
        origins = tuple(Column(name, Kind.IDENTIFIER, self.kind.may_lack(side), 0) for name, side in named)
        skew = max(self.left.source.skew_seconds, self.right.source.skew_seconds)
        return Source(
            number=self.output.number,
            name=self.name,
            topics=(self.output,),
            record="".join(word.capitalize() for word in self.name.split("_")),
            columns=(*columns, *origins),
            key=self.key,
            reported_at=self.reported_at,
            id=LEFT_ORIGIN,
            skew_seconds=skew,
        )

    @cached_property
    def version(self) -> str:
        """Eight hex digits over all that can change what it gives (rule 13); its sources' skew may change beside it."""
        halves = (self.left, self.right)
        described: dict[str, object] = {
            "halves": [[h.topic, h.id, h.at, h.source.number] for h in halves],
            "seconds": [self.bound_seconds, self.grace_seconds],
            "columns": [asdict(taken) for taken in self.columns],
            "key": self.key,
            "output": self.output.number,
        }
        if self.kind is not JoinKind.INNER:
            described["kind"] = self.kind.value
        if any(half.only for half in halves):
            described["only"] = [half.only and asdict(half.only) for half in halves]
        text = json.dumps(described, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def joined(self, left: Mapping[str, Value] | None, right: Mapping[str, Value] | None) -> dict[str, Value]:
        """The joined record's own columns, without origins; None is a side that nobody met."""
        values: dict[str, Value] = {}
        for name, of_left, of_right in self._taken:
            value = None if of_left is None or left is None else left[of_left]
            if value is None and of_right is not None and right is not None:
                value = right[of_right]
            values[name] = value
        return values

    @cached_property
    def _taken(self) -> tuple[tuple[str, str | None, str | None], ...]:
        """Each column's name, and which it is of the left and of the right side."""
        return tuple((t.name, taken_of(t, Side.LEFT), taken_of(t, Side.RIGHT)) for t in self.columns)


def _problems(join: Join) -> Iterator[str]:
    if not 0 < join.number < 1 << 16:
        yield f"number {join.number} is not in 1..65535"
    if join.bound_seconds < 0 or join.grace_seconds < 0:
        yield "bound_seconds and grace_seconds may not be negative"
    if join.left.topic == join.right.topic:
        yield from selection_problems("left", join.left, "right", join.right)
    for side in Side:
        yield from half_problems(side, join.half(side))
    unknown = list(_unknown_columns(join))
    yield from unknown
    names = [taken.name for taken in join.columns]
    if len(set(names)) != len(names):
        yield f"column names are used twice: {names}"
    for name in sorted({LEFT_ORIGIN, RIGHT_ORIGIN} & set(names)):
        yield f"column name {name!r} is the joined record's own"
    for role, name in (("key", join.key), ("reported_at", join.reported_at)):
        if name not in names:
            yield f"{role} column {name!r} is not among the joined columns"
    if not unknown:
        yield from _column_problems(join)


def _unknown_columns(join: Join) -> Iterator[str]:
    for taken in join.columns:
        for side in Side:
            name = taken_of(taken, side)
            if name is not None and name not in join.half(side).source.by_name:
                yield f"column {taken.name!r}: no column {name!r} on the {side} side"


def _column_problems(join: Join) -> Iterator[str]:
    for taken in join.columns:
        if isinstance(taken, Either):
            left, right = (join.half(side).source.by_name[taken.column_of(side)].kind for side in Side)
            if left is not right:
                yield f"column {taken.name!r}: {left} on the left side, {right} on the right"
        column = join.column(taken)
        if taken.name != join.reported_at:
            continue
        if column.kind is not Kind.INSTANT:
            yield f"reported_at column {taken.name!r} is {column.kind}, not {Kind.INSTANT}"
        if column.nullable:
            yield (
                f"reported_at column {taken.name!r} may be null in a joined record of kind {join.kind}; take the time "
                "of a half that is always there, or Either of both"
            )
