"""The naive fold: what every view must equal, written to be obviously right rather than fast.

It is the oracle of the tests and the first of the three translators of a view (the others are
`app.engine.core.views.aggregate` in compiled loops and `spark_batch.folds.recompute` in Spark).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.domain.advance import Advance
from app.domain.contribution import contribution, key_of
from app.domain.event_time import NO_WATERMARK
from app.domain.records import Record, Refused, TopicPartition, Value, as_integer
from app.domain.rows import Cells, RowKey, end_of, last_of
from app.domain.rules.admission import refusal
from app.domain.rules.epochs import AS_DECLARED, Rules
from app.domain.source import with_derived
from app.domain.view import View


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
            watermark = max(watermark, as_integer(values[view.source.reported_at]))
            _apply(folded, view, record, values, rules.seen_us(view, at, record.offset, watermark))
        folded.watermarks[at] = watermark
    return folded


def by_window(view: View, rows: Mapping[RowKey, Cells]) -> dict[RowKey, Cells]:
    """Stored rows as users see them, one per window and group: panes of overlapping windows count in all of them from
    the first one on that they name."""
    overlap = view.window.overlap
    if overlap is None:
        return dict(rows)
    seen: dict[RowKey, Cells] = {}
    for key, cells in rows.items():
        pane_us, first_us = as_integer(key.window_start_us), as_integer(key.group[0])
        for start_us in overlap.windows_of(pane_us, first_us):
            shown = RowKey(start_us, key.group[1:])
            seen[shown] = view.merge(seen.get(shown, view.neutral), cells)
    return seen


def together(view: View, tasks: Iterable[Mapping[RowKey, Cells]]) -> dict[RowKey, Cells]:
    """The rows of several tasks as one of each key; where rows merge, what touches is one, whichever task's it is."""
    rows: dict[RowKey, Cells] = {}
    for key, cells in (row for of_task in tasks for row in of_task.items()):
        if view.window.merges:
            put_merging(view, rows, key, cells)
        else:
            rows[key] = view.merge(rows.get(key, view.neutral), cells)
    return rows


def final_rows(view: View, tasks: Iterable[Mapping[RowKey, Cells]], closed_to_us: int) -> dict[RowKey, Cells]:
    """What all tasks' stored rows come to, by window and group, of windows that ended at or before the instant to
    which every one of them has closed."""
    rows = together(view, (by_window(view, of_task) for of_task in tasks))
    ends = {
        key: view.window.window_end(as_integer(key.window_start_us), last_of(view, cells))
        for key, cells in rows.items()
    }
    return {key: cells for key, cells in rows.items() if ends[key] <= closed_to_us}


def _apply(folded: Folded, view: View, record: Record, values: dict[str, Value], watermark: int) -> None:
    key = key_of(view, values, watermark)
    if key is None:
        folded.out_of_scope.append(record)
    elif is_late(view, key.window_start_us, watermark):
        folded.late.append(record)
    else:
        rows = folded.rows[record.partition]
        if view.window.merges:
            put_merging(view, rows, key, contribution(view, record))
        else:
            rows[key] = view.merge(rows.get(key, view.neutral), contribution(view, record))
        folded.applied.append(record)


def is_late(view: View, window_start_us: int | None, watermark_us: int) -> bool:
    """Whether a window takes no more records (rule 7): its end plus grace is at or below the watermark. A pane takes
    them as long as any window does that it is in.

    Where rows merge `window_start_us` is the record's own instant: it is late by that alone, whatever rows there are
    (docs/decisions/0010), so a row cannot change once its end plus grace is reached.
    """
    if window_start_us is None:
        return False
    end_us = window_start_us if view.window.merges else view.window.end(window_start_us)
    return end_us + view.grace_us <= watermark_us


def put_merging(view: View, rows: dict[RowKey, Cells], key: RowKey, cells: Cells) -> None:
    """Put a row among those of its group: all that it touches become one with it, by the earliest start."""
    start = as_integer(key.window_start_us)
    for other in sorted(k for k in rows if k.group == key.group):
        begun = as_integer(other.window_start_us)
        if begun <= end_of(view, RowKey(start, key.group), cells) and start <= end_of(view, other, rows[other]):
            start, cells = min(start, begun), view.merge(cells, rows.pop(other))
    rows[RowKey(start, key.group)] = cells
