"""The naive fold: what every view must equal, written to be obviously right rather than fast.

It is the oracle of the tests and the first of the three translators of a view (the others are
`app.engine.aggregate` in Polars and `spark_batch.recompute` in Spark).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from app.domain import measures as m
from app.domain.event_time import NO_WATERMARK, is_late, is_skewed, window_start
from app.domain.fingerprint import Origin, mix, pack
from app.domain.records import Reason, Record, Refused, TopicPartition, Value, out_of_bounds, with_derived
from app.domain.view import Tumbling, View

Cells = tuple[int, ...]


class RowKey(NamedTuple):
    """Key of a row inside a task and view. `window_start_us` is None for all-time views."""

    window_start_us: int | None
    group: tuple[Value, ...]


class Advance(NamedTuple):
    """A watermark raised without a record (rule 8); holds for records at `at_offset` and above."""

    topic: str
    partition: int
    at_offset: int
    watermark_us: int


@dataclass
class Folded:
    """What a view's fold gives: rows per task (partition), and the fate of every record."""

    rows: dict[int, dict[RowKey, Cells]] = field(default_factory=lambda: defaultdict(dict))
    applied: list[Record] = field(default_factory=list)
    late: list[Record] = field(default_factory=list)
    out_of_scope: list[Record] = field(default_factory=list)
    quarantined: list[Refused] = field(default_factory=list)
    watermarks: dict[TopicPartition, int] = field(default_factory=dict)


def fold(view: View, records: Iterable[Record], advances: Iterable[Advance] = ()) -> Folded:
    """The view over the records of its source, given in offset order within each topic-partition."""
    folded = Folded()
    raised = defaultdict(list)
    for advance in advances:
        raised[TopicPartition(advance.topic, advance.partition)].append(advance)
    for record in records:
        at = TopicPartition(record.topic, record.partition)
        watermark = folded.watermarks.get(at, NO_WATERMARK)
        due = [a.watermark_us for a in raised[at] if a.at_offset <= record.offset]
        watermark = max([watermark, *due])
        values = with_derived(view.source, record.values)
        reason = refusal(view, record, values)
        if reason is not None:
            folded.quarantined.append(Refused(record.topic, record.partition, record.offset, reason))
        else:
            watermark = max(watermark, _integer(values[view.source.reported_at]))
            _apply(folded, view, record, values, watermark)
        folded.watermarks[at] = watermark
    return folded


def refusal(view: View, record: Record, values: dict[str, Value]) -> str | None:
    """Why a decoded record is unusable, or None."""
    outside = out_of_bounds(view.source, record.values)
    if outside is not None:
        return f"{Reason.OUT_OF_BOUNDS}:{outside}"
    if record.timestamp_ms < 0:
        return Reason.NO_TIMESTAMP
    if is_skewed(_integer(values[view.source.reported_at]), record.timestamp_ms, view.source.skew_seconds):
        return Reason.SKEWED
    return None


def contribution(view: View, record: Record) -> Cells:
    """The row that this record alone would make."""
    values = with_derived(view.source, record.values)
    number = view.source.topic(record.topic).number
    origin = pack(Origin(number, record.partition, record.offset))
    at = _integer(values[view.source.reported_at])
    return tuple(cell for part in view.parts for cell in _take(part, values, origin, at))


def key_of(view: View, values: dict[str, Value]) -> RowKey | None:
    """The row a record belongs to, or None where it is out of the view's scope (no instant to place it by)."""
    group = tuple(values[g.column] for g in view.groups)
    if not isinstance(view.window, Tumbling):
        return RowKey(None, group)
    instant = values[view.window.column]
    return None if instant is None else RowKey(window_start(view.window, _integer(instant)), group)


def merge_rows(view: View, rows: Iterable[Sequence[int]]) -> Cells:
    """All given rows of one key as one."""
    merged: Cells = view.neutral
    for row in rows:
        merged = view.merge(merged, row)
    return merged


def _apply(folded: Folded, view: View, record: Record, values: dict[str, Value], watermark: int) -> None:
    key = key_of(view, values)
    if key is None:
        folded.out_of_scope.append(record)
    elif is_late(view, key.window_start_us, watermark):
        folded.late.append(record)
    else:
        rows = folded.rows[record.partition]
        rows[key] = view.merge(rows.get(key, view.neutral), contribution(view, record))
        folded.applied.append(record)


def _take(part: m.Part, values: dict[str, Value], origin: int, reported_at_us: int) -> Cells:
    if part.take is m.Take.ONE:
        return (1,)
    if part.take is m.Take.FINGERPRINT:
        return (mix(origin),)
    assert part.column is not None  # every other part stands over a column
    value = values[part.column]
    if value is None:
        return part.op.neutral
    number = _integer(value)
    match part.take:
        case m.Take.PRESENT:
            return (1,)
        case m.Take.BIN:
            inside = (part.low is None or number >= part.low) and (part.high is None or number < part.high)
            return (int(inside),)
        case m.Take.STAMPED:
            return (reported_at_us, origin, number)
        case _:
            return (number,)


def _integer(value: Value) -> int:
    if not isinstance(value, int):
        raise TypeError(f"expected an integer, got {value!r}")
    return value
