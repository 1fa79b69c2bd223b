"""What one record is to a view: the row that it belongs to, and what it gives to it."""

from __future__ import annotations

from typing import assert_never

from app.domain.event_time import NO_WATERMARK
from app.domain.fingerprint import Origin, mix, pack
from app.domain.measures.parts import Part, Take
from app.domain.records import Record, Value, as_integer
from app.domain.rows import Cells, RowKey
from app.domain.source import with_derived
from app.domain.view import View


def contribution(view: View, record: Record) -> Cells:
    """The row that this record alone would make."""
    values = with_derived(view.source, record.values)
    number = view.source.topic(record.topic).number
    origin = pack(Origin(number, record.partition, record.offset))
    at = as_integer(values[view.source.reported_at])
    return tuple(cell for part in view.parts for cell in _take(part, values, origin, at))


def key_of(view: View, values: dict[str, Value], watermark_us: int = NO_WATERMARK) -> RowKey | None:
    """The row a record belongs to, or None where it is out of the view's scope: no instant to place it by, or a rule
    holds whose records the view leaves out.

    Where rows merge it is the one that the record alone would make. Of windows that overlap those count
    the record that the watermark has not closed: the first of them is part of the key.
    """
    if any(values[rule] for rule in view.leaves_out):
        return None
    group = tuple(values[g.column] for g in view.groups)
    if view.window.column is None:
        return RowKey(None, group)
    instant = values[view.window.column]
    if instant is None:
        return None
    at = as_integer(instant)
    if overlap := view.window.overlap:
        of_it, still_open = (overlap.first_ending_after(us) for us in (at, watermark_us - view.grace_us))
        group = (max(of_it, still_open), *group)
    return RowKey(view.window.start(at), group)


def _take(part: Part, values: dict[str, Value], origin: int, reported_at_us: int) -> Cells:
    if part.take is Take.ONE:
        return (1,)
    if part.take is Take.FINGERPRINT:
        return (mix(origin),)
    assert part.column is not None  # every other part stands over a column
    value = values[part.column]
    if value is None:
        return part.op.neutral
    number = as_integer(value)
    match part.take:
        case Take.PRESENT:
            return (1,)
        case Take.BIN:
            inside = (part.low is None or number >= part.low) and (part.high is None or number < part.high)
            return (int(inside),)
        case Take.STAMPED:
            return (reported_at_us, origin, number)
        case Take.VALUE:
            return (number,)
        case _:
            assert_never(part.take)
