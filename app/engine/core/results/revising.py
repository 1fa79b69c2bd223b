"""Finals that were published are remembered for a while, and published again when one of their rows is corrected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from app.codecs.stored import changelog
from app.codecs.stored.closings import Replaced, as_final_key, encode_replaced, partition_of
from app.codecs.stored.row_keys import decode_keys
from app.domain.corrections.revision import REVISION, revise
from app.domain.measures.kinds import Max
from app.domain.rows import Cells
from app.domain.view import View
from app.engine.core.batch import Output
from app.engine.core.draft import Draft
from app.engine.core.rows.state import Rows, ViewChange
from app.engine.core.task_state import TaskState
from app.engine.core.views.ended import next_ended

FORGOTTEN = 20_000
"""About how many finals are forgotten in one transaction."""


@lru_cache
def with_revision(view: View) -> View:
    """The view with one more cell: what a published final is stored as. Its version is not the view's."""
    return replace(view, measures=(*view.measures, Max(REVISION, view.source.reported_at)))


@dataclass(frozen=True, slots=True)
class FinalsChanged:
    """Finals that were published, again, or are forgotten."""

    view: str
    change: ViewChange

    def swap_in(self, state: TaskState) -> None:
        state.finals[self.view].swap_in(self.change)


class Change(NamedTuple):
    """A task's row was replaced after its window had been closed; `at` is the change's place in its batch."""

    at: int
    row_key: bytes
    replaced: Replaced


def tell_replaced(draft: Draft, view: View, row_key: bytes, window_start_us: int, replaced: Replaced) -> None:
    """Tell the closing stage that a row was corrected, if it has the row already, and as long as it remembers it."""
    closed_to_us = draft.marker.views[view.name].closed_to_us
    end_us = view.window.window_end(window_start_us)
    if closed_to_us is None or not end_us <= closed_to_us < end_us + view.revisable_us:
        return
    topic, count = draft.definition.closings, draft.marker.closing_partitions
    partition = partition_of(view, row_key, count)
    draft.outputs.append(Output(topic, as_final_key(row_key), encode_replaced(replaced), partition=partition))


def remember(draft: Draft, view: View, rows: Rows) -> None:
    """Remember finals that are published for the first time."""
    if view.revisable_us:
        cells = np.column_stack([rows.cells, np.zeros(len(rows), np.int64)])
        _keep(draft, view, Rows(rows.windows, rows.groups, cells), np.full(len(rows), -1, np.intp))


def revise_finals(draft: Draft, view: View, changes: Iterable[Change]) -> tuple[Rows, list[int]]:
    """Finals with these changes, each revision one more than before; and the indices of what cannot be revised.

    All changes of one final in a batch are one revision.
    """
    state, lost = draft.state.finals[view.name], list[int]()
    by_key: dict[bytes, list[Change]] = {}
    for change in changes:
        by_key.setdefault(change.row_key, []).append(change)
    windows, groups = decode_keys(view, list(by_key))
    rows = Rows(windows, groups, np.zeros((len(by_key), len(view.cells) + 1), np.int64))
    slots = state.find_slots(rows)
    for number, (slot, of_key) in enumerate(zip(slots.tolist(), by_key.values(), strict=True)):
        if slot < 0:
            lost += [change.at for change in of_key]
            continue
        *cells, revision = state.cells_at(np.array([slot]))[0].tolist()
        revised = replaced_in(view, tuple(cells), of_key, lost)
        rows.cells[number] = (*revised, revision + 1)
        if revised == tuple(cells):
            slots[number] = -1
    changed = np.flatnonzero(slots >= 0)
    rows = rows.at(changed)
    _keep(draft, view, rows, slots[changed])
    return rows, lost


def replaced_in(view: View, merged: Cells, changes: Iterable[Change], lost: list[int]) -> Cells:
    """The merged row after the changes; `lost` gets the indices of those that cannot be made."""
    for change in changes:
        revised = revise(view, merged, *change.replaced)
        if revised is None:
            lost.append(change.at)
        else:
            merged = revised
    return merged


def forget_finals(draft: Draft, view: View) -> None:
    """Drop the finals that no correction can change any more: every task has closed so far beyond them."""
    marks, state = draft.state.marks[view.name], draft.state.finals[view.name]
    if len(marks) < draft.definition.task_count or not len(state):
        return
    to_us = min(mark.closed_to_us for mark in marks.values()) - view.revisable_us
    if draft.state.is_settled("revisable", view.name, to_us):
        return
    slots = next_ended(state, None, to_us, FORGOTTEN).slots
    if not len(slots):
        draft.state.note_settled("revisable", view.name, to_us)
        return
    rows = state.rows_at(slots)
    draft.drop_rows(view, rows, changelog.REVISION)
    nothing = rows.at(np.zeros(0, np.intp))
    draft.effects.append(FinalsChanged(view.name, ViewChange(slots[:0], nothing.cells, nothing, slots)))


def _keep(draft: Draft, view: View, rows: Rows, slots: np.ndarray) -> None:
    """Rows with their revisions, at these slots; -1 for new ones."""
    if not len(rows):
        return
    draft.keep_rows(view, rows, changelog.REVISION)
    known = slots >= 0
    change = ViewChange(slots[known], rows.cells[known], rows.at(~known))
    draft.effects.append(FinalsChanged(view.name, change))
