"""An alert as data: what begins and has not ended after a time is told, once (rule 20).

Beginnings and ends are two selections of one topic, matched by id. Whatever happened at `t` is held until the
watermark of its own topic-partition reaches `t` + `longer_than_seconds` + grace: so long a beginning waits for its
end, and so long ids are taken. What comes later than that is late. So alerts are a function of the
topic-partition's prefix, and each names the offset at which it was due.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property

from app.domain.errors import DefinitionError
from app.domain.fingerprint import Origin, pack
from app.domain.pairs.half import Half, half_problems, selection_problems
from app.domain.pairs.join import Side
from app.domain.pairs.pairing import Pairing
from app.domain.source import Column, Kind, Source, SourceTopic

START, END = Side.LEFT, Side.RIGHT
"""Beginnings and ends are held as the two sides of a join are."""

BEGAN_AT, ENDED_AT, TOLD_AT = "began_at_us", "ended_at_us", "told_at_us"
START_ORIGIN, END_ORIGIN, AT_OFFSET = "start_origin", "end_origin", "at_offset"
OWN_COLUMNS = (BEGAN_AT, ENDED_AT, TOLD_AT, START_ORIGIN, END_ORIGIN, AT_OFFSET)


@dataclass(frozen=True)
class Alert(Pairing):
    """Tells what lasts longer than `longer_than_seconds`; what lasts exactly so long is not told.

    It is told at its end, or, if none has come, when the watermark reaches beginning + `longer_than_seconds` + grace,
    whichever offset comes first. `columns`: of the beginning, carried into the alert. `output`: the topic it goes to,
    with its number as part of fingerprints. `number` is never reused.
    """

    origins = (START_ORIGIN, END_ORIGIN)
    words = ("an", "alert", "halves")

    number: int
    name: str
    starts: Half
    ends: Half
    longer_than_seconds: int
    grace_seconds: int
    columns: tuple[str, ...]
    output: SourceTopic
    help: str

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise DefinitionError(f"alert {self.name!r} is not usable", problems)

    @property
    def topic(self) -> str:
        """The topic it watches."""
        return self.starts.topic

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic,)

    @property
    def longer_than_us(self) -> int:
        return self.longer_than_seconds * 1_000_000

    @property
    def held_us(self) -> int:
        """How far the watermark must be past an instant for what happened then to be over."""
        return (self.longer_than_seconds + self.grace_seconds) * 1_000_000

    @property
    def waits_us(self) -> int:
        return self.held_us

    def half(self, side: Side) -> Half:
        return self.starts if side is START else self.ends

    def needed(self, side: Side) -> tuple[str, ...]:
        """Columns of a side that alerts hold."""
        return self.columns if side is START else ()

    def origin(self, partition: int, offset: int) -> int:
        """The packed origin of a record that it watches."""
        return pack(Origin(self.starts.source.topic(self.topic).number, partition, offset))

    @cached_property
    def source(self) -> Source:
        """The alerts as a source: views over it read them like any other.

        Their time is the watermark that told them, which never goes back: of one that had no end the bound that the
        watermark reached, of another the watermark at its offset.
        """
        of = self.starts.source.by_name
        named = of[self.starts.id]
        own = (
            Column(self.starts.id, named.kind, False, named.low, named.high, named.help),
            Column(BEGAN_AT, Kind.INSTANT, False),
            Column(ENDED_AT, Kind.INSTANT, True, help="null where no end had come"),
            Column(TOLD_AT, Kind.INSTANT, False, help="the watermark at which it was told"),
            Column(START_ORIGIN, Kind.IDENTIFIER, False, 0),
            Column(END_ORIGIN, Kind.IDENTIFIER, True, 0),
            Column(AT_OFFSET, Kind.IDENTIFIER, False, 0, help="the offset at which it was told"),
        )
        return Source(
            number=self.output.number,
            name=self.name,
            topics=(self.output,),
            record="".join(word.capitalize() for word in self.name.split("_")),
            columns=(*own, *(of[name] for name in self.columns)),
            key=self.starts.id,
            reported_at=TOLD_AT,
            id=START_ORIGIN,
            skew_seconds=self.starts.source.skew_seconds,
        )

    @cached_property
    def version(self) -> str:
        """Eight hex digits over all that can change what it tells (rule 13); its source's skew may change beside it."""
        halves = (self.starts, self.ends)
        described = {
            "halves": [[h.topic, h.id, h.at, h.source.number] for h in halves],
            "only": [half.only and asdict(half.only) for half in halves],
            "seconds": [self.longer_than_seconds, self.grace_seconds],
            "columns": self.columns,
            "output": self.output.number,
        }
        text = json.dumps(described, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def _problems(alert: Alert) -> Iterator[str]:
    if not 0 < alert.number < 1 << 16:
        yield f"number {alert.number} is not in 1..65535"
    if alert.longer_than_seconds < 0:
        yield "longer_than_seconds may not be negative"
    if alert.grace_seconds < 1:
        yield (
            "grace_seconds must be 1 at least: an end that comes exactly after longer_than_seconds moves the watermark "
            "there itself, and would be told before it is seen"
        )
    if alert.starts.source != alert.ends.source or alert.starts.topic != alert.ends.topic:
        yield (
            f"starts are records of {alert.starts.topic!r}, ends of {alert.ends.topic!r}: an alert watches one topic, "
            "or its result would depend on the order in which two are read; join them first and watch the join's output"
        )
    else:
        yield from selection_problems("starts", alert.starts, "ends", alert.ends)
    yield from half_problems("starts", alert.starts)
    yield from half_problems("ends", alert.ends)
    known = alert.starts.source.by_name
    for name in alert.columns:
        if name not in known:
            yield f"no column {name!r} in source {alert.starts.source.name!r}"
    taken = [alert.starts.id, *OWN_COLUMNS, *alert.columns]
    for name in sorted({name for name in taken if taken.count(name) > 1}):
        yield f"column {name!r} would stand twice in the alert"
