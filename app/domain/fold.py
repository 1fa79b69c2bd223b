"""The naive fold: what every view must equal, written to be obviously right rather than fast.

It is the oracle of the tests and the first of the three translators of a view (the others are
`app.engine.core.views.aggregate` in Polars and `spark_batch.folds.recompute` in Spark).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from app.domain import measures as m
from app.domain.event_time import NO_WATERMARK, is_late, is_skewed
from app.domain.fingerprint import Origin, mix, pack
from app.domain.records import Reason, Record, Refused, TopicPartition, Value, out_of_bounds, with_derived
from app.domain.rules.condition import holds
from app.domain.rules.epochs import AS_DECLARED, Rules
from app.domain.source import Source
from app.domain.view import View
from app.domain.windows.session import SESSION_END

Cells = tuple[int, ...]


class RowKey(NamedTuple):
    """Key of a row inside a task and view. `window_start_us` is None for all-time views.

    `group` has the values of `View.stored_groups`.
    """

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


def fold(view: View, records: Iterable[Record], advances: Iterable[Advance] = (), rules: Rules = AS_DECLARED) -> Folded:
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
        reason = refusal(view.source, record, values, rules)
        if reason is not None:
            folded.quarantined.append(Refused(record.topic, record.partition, record.offset, reason))
        else:
            watermark = max(watermark, _integer(values[view.source.reported_at]))
            _apply(folded, view, record, values, rules.seen_us(view, at, record.offset, watermark))
        folded.watermarks[at] = watermark
    return folded


def refusal(source: Source, record: Record, values: dict[str, Value], rules: Rules = AS_DECLARED) -> str | None:
    """Why a decoded record is unusable, or None."""
    outside = out_of_bounds(source, record.values)
    if outside is not None:
        return f"{Reason.OUT_OF_BOUNDS}:{outside}"
    if record.timestamp_ms < 0:
        return Reason.NO_TIMESTAMP
    epoch = rules.held_to(source, TopicPartition(record.topic, record.partition), record.offset)
    if is_skewed(_integer(values[source.reported_at]), record.timestamp_ms, epoch.skew_seconds):
        return Reason.SKEWED
    unclean = (name for name, condition in source.conditions(epoch.refuses) if holds(condition, values))
    return next((f"{Reason.UNCLEAN}:{name}" for name in unclean), None)


def contribution(view: View, record: Record) -> Cells:
    """The row that this record alone would make."""
    values = with_derived(view.source, record.values)
    number = view.source.topic(record.topic).number
    origin = pack(Origin(number, record.partition, record.offset))
    at = _integer(values[view.source.reported_at])
    return tuple(cell for part in view.parts for cell in _take(part, values, origin, at))


def key_of(view: View, values: dict[str, Value], watermark_us: int = NO_WATERMARK) -> RowKey | None:
    """The row a record belongs to, or None where it is out of the view's scope: no instant to place it by, or a rule
    holds whose records the view leaves out.

    For a session view it is the session that the record alone would make. Of windows that overlap those count
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
    at = _integer(instant)
    if overlap := view.window.overlap:
        of_it, still_open = (overlap.first_ending_after(us) for us in (at, watermark_us - view.grace_us))
        group = (max(of_it, still_open), *group)
    return RowKey(view.window.start(at), group)


def by_window(view: View, rows: Mapping[RowKey, Cells]) -> dict[RowKey, Cells]:
    """Stored rows as users see them, one per window and group: panes of overlapping windows count in all of them from
    the first one on that they name."""
    overlap = view.window.overlap
    if overlap is None:
        return dict(rows)
    seen: dict[RowKey, Cells] = {}
    for key, cells in rows.items():
        pane_us, first_us = _integer(key.window_start_us), _integer(key.group[0])
        for start_us in overlap.windows_of(pane_us, first_us):
            shown = RowKey(start_us, key.group[1:])
            seen[shown] = view.merge(seen.get(shown, view.neutral), cells)
    return seen


def merge_rows(view: View, rows: Iterable[Sequence[int]]) -> Cells:
    """All given rows of one key as one."""
    merged: Cells = view.neutral
    for row in rows:
        merged = view.merge(merged, row)
    return merged


def _apply(folded: Folded, view: View, record: Record, values: dict[str, Value], watermark: int) -> None:
    key = key_of(view, values, watermark)
    if key is None:
        folded.out_of_scope.append(record)
    elif is_late(view, key.window_start_us, watermark):
        folded.late.append(record)
    else:
        rows = folded.rows[record.partition]
        if view.window.merges:
            join_sessions(view, rows, key, contribution(view, record))
        else:
            rows[key] = view.merge(rows.get(key, view.neutral), contribution(view, record))
        folded.applied.append(record)


def join_sessions(view: View, rows: dict[RowKey, Cells], key: RowKey, cells: Cells) -> None:
    """Put a session among those of its group: all within the gap of it become one, by the earliest start."""
    end_at = view.cells.index(SESSION_END)
    start, end = _integer(key.window_start_us), cells[end_at]
    for other in sorted(k for k in rows if k.group == key.group):
        begun = _integer(other.window_start_us)
        if begun <= view.window.end(start, end) and start <= view.window.end(begun, rows[other][end_at]):
            start, cells = min(start, begun), view.merge(cells, rows.pop(other))
            end = cells[end_at]
    rows[RowKey(start, key.group)] = cells


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
