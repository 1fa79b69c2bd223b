"""The closing stage: rows that wait become finals when every task's mark has passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.base import names
from app.codecs.arrays import Int64s
from app.codecs.stored.changelog import CLOSED_ROW
from app.codecs.stored.closings import Mark
from app.codecs.stored.final_records import FinalRows, final_records
from app.domain.view import View
from app.engine.core.batch import OutputColumns
from app.engine.core.draft import Draft
from app.engine.core.results.open_rows import are_held
from app.engine.core.results.revising import remember
from app.engine.core.rows.state import Rows, ViewChange
from app.engine.core.task_state import TaskState
from app.engine.core.views.ended import next_ended

FINALS = 5_000
"""So many are published in one transaction."""


@dataclass(frozen=True, slots=True)
class ClosingsChanged:
    """Rows that wait to become finals. `held_to_us`: what ended by then and waits still is held by open rows."""

    view: str
    change: ViewChange
    held_to_us: int | None = None

    def swap_in(self, state: TaskState) -> None:
        state.closings[self.view].swap_in(self.change)
        state.look_again("finals", self.view)  # a correction may bring a row behind what was looked for
        state.look_again("held", self.view)
        if self.held_to_us is not None:
            state.note_settled("held", self.view, self.held_to_us)


def publish_finals(draft: Draft, view: View) -> None:
    """Publish the rows of windows that every task has closed, in bounded steps; they stop waiting."""
    marks, state = draft.state.marks[view.name], draft.state.closings[view.name]
    if len(marks) < draft.definition.task_count or not len(state):
        return
    closed_to_us = min(mark.closed_to_us for mark in marks.values())
    if draft.state.is_settled("finals", view.name, closed_to_us):
        return
    slots, held_to_us = _next_finals(draft.state, view, closed_to_us)
    if not len(slots):
        draft.state.note_settled("finals", view.name, closed_to_us)
        return
    rows = state.rows_at(slots)
    draft.send(finals_of(view, rows, marks, np.zeros(len(rows), np.int64)))
    remember(draft, view, rows)
    draft.drop_rows(view, rows, CLOSED_ROW)
    nothing = rows.at(np.zeros(0, np.intp))
    change = ViewChange(slots[:0], nothing.cells, nothing, slots)
    draft.effects.append(ClosingsChanged(view.name, change, held_to_us))


def _next_finals(state: TaskState, view: View, closed_to_us: int) -> tuple[Int64s, int | None]:
    """Slots of the rows to be published next, and up to which end all others are held."""
    held_to_us = state.looked_to.get(("held", view.name))
    while True:
        ended = next_ended(state.closings[view.name], held_to_us, closed_to_us, FINALS)
        free = ended.slots[~are_held(state, view, ended.slots)]
        if len(free) > FINALS or len(free) == len(ended.slots):
            return free[:FINALS], held_to_us
        held_to_us = ended.to_us
        if len(free) or held_to_us >= closed_to_us:
            return free, held_to_us


def finals_of(view: View, rows: Rows, marks: Mapping[int, Mark], revisions: Int64s) -> OutputColumns:
    """Records of `windows.<view>` (docs/formats.md), by window and then group."""
    assert rows.windows is not None
    order = np.argsort(rows.windows, kind="stable")
    rows = rows.at(order)
    assert rows.windows is not None
    shown = rows.groups[len(view.stored_groups) - len(view.groups) :]
    positions = {str(task): mark.next_offsets for task, mark in sorted(marks.items())}
    finals = FinalRows(rows.windows, shown, rows.cells, revisions[order])
    return OutputColumns(names.finals_topic(view.name), None, *final_records(view, finals, positions))
