"""Sessions that are open when a task moves its mark (rule 19).

What merges with a closed row may be open in another task. So a task tells, before its mark, of all rows that began by
then and have not ended. The closing stage publishes nothing that one of these begins in, or close behind; with the
task's next mark they are overtaken: closed by then, or told again (`docs/decisions/0032`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.blobs import Blobs
from app.codecs.stored.closing_columns import OpenKeys, decode_opens, open_keys_of
from app.codecs.stored.closings import GROUP_AT, encode_open
from app.codecs.stored.row_key_columns import encode_key_columns
from app.codecs.weaving import same
from app.domain.view import View
from app.engine.core.batch import Changes
from app.engine.core.draft import Draft
from app.engine.core.kinds.kernels import kernel_of
from app.engine.core.possible import are_possible
from app.engine.core.results.sending import send_closings
from app.engine.core.task_state import TaskState, Telling

TOLD_ROWS = 5_000
"""About how many are told in one transaction."""
OVERTAKEN_ROWS = 5_000
"""How many are forgotten in one transaction."""


@dataclass(frozen=True, slots=True)
class TellingMoved:
    """How far open rows have been told; None when the mark is sent for which it was done."""

    view: str
    telling: Telling | None

    def swap_in(self, state: TaskState) -> None:
        if self.telling is None:
            state.telling.pop(self.view, None)
        else:
            state.telling[self.view] = self.telling


@dataclass(frozen=True, slots=True)
class OpenRowsChanged:
    """Open rows that tasks have told, and those that are open no more."""

    view: str
    told: Blobs
    closed_to_us: Int64s
    gone: Blobs

    def swap_in(self, state: TaskState) -> None:
        state.open_rows[self.view].remove(self.gone)
        state.open_rows[self.view].put(self.told, self.closed_to_us)
        state.look_again("finals", self.view)
        state.look_again("held", self.view)


def tell_open(draft: Draft, view: View, to_us: int) -> Telling:
    """Tell of the next rows that are open at `to_us`, or at the mark for which this was begun; how far it has come.

    None of them changes its start any more: records that come now are later than any mark. Told twice, after a crash,
    they are what they were.
    """
    begun = draft.state.telling.get(view.name, Telling(to_us, None))
    if begun.is_done:
        return begun
    state = draft.state.views[view.name]
    found = kernel_of(view).next_open(state, begun.told_us, begun.to_us, TOLD_ROWS)
    rows, count = state.rows_at(found.slots), len(found.slots)
    keys = encode_key_columns(view, rows.windows, rows.groups, count)
    starts_us = np.zeros(0, np.int64) if rows.windows is None else rows.windows
    named = OpenKeys(_groups_in(keys), starts_us, np.full(count, draft.state.partition))
    told = Changes(open_keys_of(view, named), same(encode_open(begun.to_us), count))
    send_closings(draft, view, keys, told, behind=Changes.of(()))
    return begun._replace(told_us=found.to_us)


def take_open(draft: Draft, view: View, keys: Blobs, values: Blobs) -> None:
    """Note rows that tasks have told; none for a mark that there cannot be."""
    closed_to_us = decode_opens(values)
    possible = np.flatnonzero(are_possible(view, closed_to_us))
    if len(possible):
        told = keys.at(possible)
        draft.keep_all(Changes(told, values.at(possible)))
        draft.effects.append(OpenRowsChanged(view.name, told, closed_to_us[possible], Blobs.nulls(0)))


def forget_overtaken(draft: Draft, view: View) -> None:
    """Drop the rows that are open no more, in bounded steps."""
    marks_us = {task: mark.closed_to_us for task, mark in draft.state.marks[view.name].items()}
    gone = draft.state.open_rows[view.name].overtaken(marks_us, OVERTAKEN_ROWS)
    if len(gone):
        draft.keep_all(Changes(gone, Blobs.nulls(len(gone))))
        draft.effects.append(OpenRowsChanged(view.name, Blobs.nulls(0), np.zeros(0, np.int64), gone))


def are_held(state: TaskState, view: View, slots: Int64s) -> Mask:
    """Which of the rows that wait an open row of their group touches: one that begins by their end."""
    open_rows, waiting = state.open_rows[view.name], state.closings[view.name]
    if not len(open_rows):
        return np.zeros(len(slots), np.bool_)
    rows = waiting.rows_at(slots)
    keys = encode_key_columns(view, rows.windows, rows.groups, len(rows))
    return open_rows.begin_by(_groups_in(keys), kernel_of(view).ends(waiting, slots))


def _groups_in(row_keys: Blobs) -> Blobs:
    """The groups in keys of rows, as they stand there."""
    return Blobs(row_keys.data, row_keys.starts + GROUP_AT, row_keys.lengths - GROUP_AT)
