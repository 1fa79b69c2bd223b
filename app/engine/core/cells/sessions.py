"""Sessions: what is added to those that are stored; what touches becomes one, the swallowed go by tombstone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.view import View
from app.engine.core.cells.mergers import merge_groups
from app.engine.core.rows.spans import RowSpan, SpanGroup, Spans, spans_of
from app.engine.core.rows.state import Rows, ViewChange, ViewState


class Touching(NamedTuple):
    """What rows become with those that they touch: rows as they are now, rows that became part of others, what that
    does to the state, and spans that go and come."""

    rows: Rows
    swallowed: Rows
    change: ViewChange
    gone: list[tuple[SpanGroup, RowSpan]]
    new: list[tuple[SpanGroup, RowSpan]]


def touching(gap_us: int, state: ViewState, spans: Spans, rows: Rows) -> Touching:
    """Merge rows with those of a state that they touch, and with one another; `spans` are the state's."""
    view = state.view
    touched = _touched(view, gap_us, rows, spans)
    slots = _slots(state, rows, touched)
    together = _stacked(rows, state.rows_at(slots))
    merged = _merged(view, together, _cluster_numbers(view, gap_us, together))
    stays = np.isin(slots, found := state.find_slots(merged))
    removed = slots[~stays]
    known = found >= 0
    change = ViewChange(found[known], merged.cells[known], merged.at(~known), removed)
    gone = [(one.group, one.span) for one in touched]
    return Touching(merged, state.rows_at(removed), change, gone, list(spans_of(view, merged)))


class _Touched(NamedTuple):
    """A stored session that one of the rows touches, with the number of a row that has its group."""

    row: int
    group: SpanGroup
    span: RowSpan


def _touched(view: View, gap_us: int, rows: Rows, spans: Spans) -> list[_Touched]:
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
    firsts = rows.at(order[first])
    return Rows(firsts.windows, firsts.groups, merge_groups(view, rows.cells, numbers, len(first)))
