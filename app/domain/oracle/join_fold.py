"""The naive fold of a join: what the worker's must equal. Obviously right rather than fast."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from app.domain.advance import Advance
from app.domain.event_time import NO_WATERMARK
from app.domain.pairs.join import Join, Side
from app.domain.records import Record, Value, as_integer
from app.domain.rules.admission import refusal
from app.domain.rules.epochs import AS_DECLARED, Rules
from app.domain.source import with_derived


class OpenHalf(NamedTuple):
    """A half that counts: where it stands, its id, when it happened, its values."""

    origin: int
    id: Value
    at_us: int
    values: dict[str, Value]


@dataclass
class Joined:
    """What a join gives, as origins: pairs that met, halves that nobody can meet any more, and what was left out."""

    pairs: set[tuple[int, int]] = field(default_factory=set)
    unmatched: dict[Side, set[int]] = field(default_factory=lambda: {side: set() for side in Side})
    late: set[int] = field(default_factory=set)
    duplicates: set[int] = field(default_factory=set)
    out_of_scope: set[int] = field(default_factory=set)
    applied: set[int] = field(default_factory=set)


def fold_join(
    join: Join, records: Iterable[Record], advances: Iterable[Advance] = (), rules: Rules = AS_DECLARED
) -> Joined:
    """The join over one task's records (one partition, both topics), given in offset order within each topic.

    Of `rules` the skews count: a join's grace does not change while it goes on.
    """
    records, advances = list(records), list(advances)
    joined = Joined()
    halves: dict[Side, list[OpenHalf]] = {side: [] for side in Side}
    watermarks = []
    for topic in join.topics:
        mine = sorted((r for r in records if r.topic == topic), key=lambda r: r.offset)
        raised = [a for a in advances if a.topic == topic]
        watermarks.append(_count(join, mine, raised, rules, halves, joined))
    for left in halves[Side.LEFT]:
        for right in halves[Side.RIGHT]:
            if left.id == right.id and abs(left.at_us - right.at_us) <= join.bound_us:
                joined.pairs.add((left.origin, right.origin))
    met = {origin for pair in joined.pairs for origin in pair}
    over = min(watermarks) - join.unmatched_after_us
    for side in Side:
        joined.unmatched[side] = {h.origin for h in halves[side] if h.at_us <= over and h.origin not in met}
    return joined


def _count(
    join: Join,
    records: list[Record],
    raised: list[Advance],
    rules: Rules,
    halves: dict[Side, list[OpenHalf]],
    joined: Joined,
) -> int:
    """Put the halves of one topic that count to their sides; gives its watermark, with advances at the log's end."""
    watermark = NO_WATERMARK
    for record in records:
        sides = [side for side in Side if join.half(side).topic == record.topic]  # both, of one topic's selections
        source = join.half(sides[0]).source
        watermark = max([watermark, *(a.watermark_us for a in raised if a.at_offset <= record.offset)])
        values = with_derived(source, record.values)
        if refusal(source, record, values, rules) is not None:
            continue
        watermark = max(watermark, as_integer(values[source.reported_at]))
        origin = join.origin(sides[0], record.partition, record.offset)
        side = next((side for side in sides if join.half(side).takes(values)), None)
        if side is None:
            joined.out_of_scope.add(origin)
            continue
        half, counted = join.half(side), halves[side]
        waiting = OpenHalf(origin, values[half.id], as_integer(values[half.at]), values)
        if waiting.at_us + join.grace_us <= watermark:
            joined.late.add(origin)
        elif any(h.id == waiting.id and h.at_us + join.remembered_us > watermark for h in counted):
            joined.duplicates.add(origin)
        else:
            counted.append(waiting)
            joined.applied.add(origin)
    return max([watermark, *(a.watermark_us for a in raised)])
