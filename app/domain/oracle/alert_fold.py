"""The naive fold of an alert: what the worker's must equal. Obviously right rather than fast."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from app.domain.advance import Advance
from app.domain.event_time import NO_WATERMARK
from app.domain.pairs.alert import END, START, Alert
from app.domain.pairs.join import Side
from app.domain.records import Record, Value, as_integer
from app.domain.rules.admission import refusal
from app.domain.rules.epochs import AS_DECLARED, Rules
from app.domain.source import with_derived


class ToldAlert(NamedTuple):
    """An alert: origins of beginning and end (None if none had come), and where and by what watermark it was told."""

    start: int
    end: int | None
    at_offset: int
    told_at_us: int


@dataclass
class Alerted:
    """What an alert gives: `told` in order, and what became of every record, by origin."""

    told: list[ToldAlert] = field(default_factory=list)
    late: set[int] = field(default_factory=set)
    duplicates: set[int] = field(default_factory=set)
    out_of_scope: set[int] = field(default_factory=set)
    applied: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)


@dataclass
class _Held:
    """A record that counts, until the watermark is far enough past it; `is_open`: a beginning that waits."""

    side: Side
    origin: int
    id: Value
    at_us: int
    is_open: bool


def fold_alert(
    alert: Alert, records: Iterable[Record], advances: Iterable[Advance] = (), rules: Rules = AS_DECLARED
) -> Alerted:
    """The alert over one task's records of its topic (one partition), given in any order.

    Of `rules` the skews count: an alert's grace does not change while it goes on.
    """
    alerted, held, watermark = Alerted(), list[_Held](), NO_WATERMARK
    source = alert.starts.source
    happened: list[Advance | Record] = [a for a in advances if a.topic == alert.topic]
    happened += [r for r in records if r.topic == alert.topic]
    for what in sorted(happened, key=_order):
        if isinstance(what, Advance):
            watermark = max(watermark, what.watermark_us)
            held = _let_go(alert, held, what.at_offset, watermark, alerted)
            continue
        values = with_derived(source, what.values)
        if refusal(source, what, values, rules) is not None:
            continue
        watermark = max(watermark, as_integer(values[source.reported_at]))
        held = _let_go(alert, held, what.offset, watermark, alerted)
        _apply(alert, held, what, values, watermark, alerted)
    alerted.open = {h.origin for h in held if h.is_open}
    return alerted


def _order(what: Advance | Record) -> tuple[int, bool]:
    """An advance holds for the record at its offset."""
    return (what.at_offset, False) if isinstance(what, Advance) else (what.offset, True)


def _let_go(alert: Alert, held: list[_Held], offset: int, watermark: int, alerted: Alerted) -> list[_Held]:
    """Tell beginnings that have waited long enough, and forget what is over; gives what is still held."""
    over = [h for h in held if h.at_us + alert.held_us <= watermark]
    for one in sorted(over, key=lambda h: (h.at_us, h.origin)):
        if one.is_open:
            alerted.told.append(ToldAlert(one.origin, None, offset, one.at_us + alert.held_us))
    return [h for h in held if h not in over]


def _apply(
    alert: Alert, held: list[_Held], record: Record, values: dict[str, Value], watermark: int, alerted: Alerted
) -> None:
    origin = alert.origin(record.partition, record.offset)
    side = next((side for side in (START, END) if alert.half(side).takes(values)), None)
    if side is None:
        alerted.out_of_scope.add(origin)
        return
    half = alert.half(side)
    now = _Held(side, origin, values[half.id], as_integer(values[half.at]), side is START)
    if now.at_us + alert.held_us <= watermark:
        alerted.late.add(origin)
        return
    if any(h.side is side and h.id == now.id for h in held):
        alerted.duplicates.add(origin)
        return
    alerted.applied.add(origin)
    held.append(now)
    for other in [h for h in held if h.side is side.other and h.id == now.id]:
        start, end = (now, other) if side is START else (other, now)
        if start.is_open and end.at_us - start.at_us > alert.longer_than_us:
            alerted.told.append(ToldAlert(start.origin, end.origin, record.offset, watermark))
        start.is_open = False
