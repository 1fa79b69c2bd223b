"""Sessions: what a batch adds to those that are stored; what touches becomes one, the swallowed go by tombstone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.view import View
from app.engine.core.cells.mergers import merge_groups
from app.engine.core.draft import Draft
from app.engine.core.rows.spans import RowSpan, SpanGroup, spans_of
from app.engine.core.rows.state import Rows, ViewChange, ViewState
from app.engine.core.task_state import RowsChanged, TaskState


@dataclass(frozen=True, slots=True)
class SpansChanged:
    """Sessions that went and came, by group."""

    view: str
    gone: list[tuple[SpanGroup, RowSpan]]
    new: list[tuple[SpanGroup, RowSpan]]

    def swap_in(self, state: TaskState) -> None:
        state.spans[self.view].remove(self.gone)
        state.spans[self.view].add(self.new)


def change_sessions(draft: Draft, view: View, gap_us: int, rows: Rows) -> None:
    """Merge a batch's sessions (`rows`, disjoint within their groups) with the stored ones."""
    if not len(rows):
        return
    state = draft.state.views[view.name]
    touched = _touched(view, gap_us, rows, draft)
    slots = _slots(state, rows, touched)
    together = _stacked(rows, state.rows_at(slots))
    merged = _merged(view, together, _cluster_numbers(view, gap_us, together))
    stays = np.isin(slots, found := state.find_slots(merged))
    removed = slots[~stays]
    known = found >= 0
    draft.keep_rows(view, merged)
    draft.drop_rows(view, state.rows_at(removed))
    change = ViewChange(found[known], merged.cells[known], merged.at(~known), removed)
    draft.effects.append(RowsChanged(view.name, change))
    draft.effects.append(SpansChanged(view.name, [(t.group, t.span) for t in touched], list(spans_of(view, merged))))


class _Touched(NamedTuple):
    """A stored session that a session of the batch touches, with the number of a row that has its group."""

    row: int
    group: SpanGroup
    span: RowSpan


def _touched(view: View, gap_us: int, rows: Rows, draft: Draft) -> list[_Touched]:
    spans = draft.state.spans[view.name]
    touched: dict[tuple[SpanGroup, RowSpan], _Touched] = {}
    for i, (group, span) in enumerate(spans_of(view, rows)):
        for stored in spans.touching(group, span.start_us - gap_us, span.end_us + gap_us):
            touched[group, stored] = _Touched(i, group, stored)
    return list(touched.values())


def _slots(state: ViewState, rows: Rows, touched: list[_Touched]) -> Int64s:
    starts = np.array([t.span.start_us for t in touched], np.int64)
    of = np.array([t.row for t in touched], np.intp)
    return state.find_slots(Rows(starts, [held[of] for held in rows.groups], rows.cells[of]))


def _stacked(above: Rows, below: Rows) -> Rows:
    assert above.windows is not None
    assert below.windows is not None
    groups = [np.concatenate(pair) for pair in zip(above.groups, below.groups, strict=True)]
    windows = np.concatenate([above.windows, below.windows])
    return Rows(windows, groups, np.concatenate([above.cells, below.cells]))


def _cluster_numbers(view: View, gap_us: int, rows: Rows) -> Int64s:
    """Sessions of one group that touch, directly or by others, have one number."""
    numbers = np.empty(len(rows), np.int64)
    number, reached_us, last = -1, 0, None
    # groups hold None beside text: order by their representation, any total order does
    order = sorted(enumerate(spans_of(view, rows)), key=lambda item: (repr(item[1][0]), item[1][1]))
    for i, (group, span) in order:
        if group != last or span.start_us > reached_us + gap_us:
            number, reached_us, last = number + 1, span.end_us, group
        reached_us = max(reached_us, span.end_us)
        numbers[i] = number
    return numbers


def _merged(view: View, rows: Rows, numbers: Int64s) -> Rows:
    """One row per number: the earliest start, all cells merged."""
    assert rows.windows is not None
    order = np.lexsort((rows.windows, numbers))
    first = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    windows, groups, _ = rows.at(order[first])
    return Rows(windows, groups, merge_groups(view, rows.cells, numbers, len(first)))
