"""Sessions that are open when a task moves its mark (rule 19).

What merges with a closed row may be open in another task. So a task tells, before its mark, of all rows that began by
then and have not ended. The closing stage publishes nothing that one of these begins in, or close behind; with the
task's next mark they are overtaken: closed by then, or told again (`docs/decisions/0032`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.codecs.stored.closings import as_open_key, decode_open, encode_open, group_in, partition_of
from app.codecs.stored.row_keys import encode_keys
from app.domain.view import View
from app.engine.core.batch import Output
from app.engine.core.draft import Draft
from app.engine.core.kinds.kernels import kernel_of
from app.engine.core.possible import is_possible
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
    told: Sequence[tuple[bytes, int]]
    gone: Sequence[bytes] = ()

    def swap_in(self, state: TaskState) -> None:
        state.open_rows[self.view].remove(self.gone)
        state.open_rows[self.view].put(self.told)
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
    rows, value = state.rows_at(found.slots), encode_open(begun.to_us)
    topic, count = draft.definition.closings, draft.marker.closing_partitions
    for key in encode_keys(view, rows.windows, rows.groups, len(rows)) if len(rows) else ():
        open_key = as_open_key(key, draft.state.partition)
        draft.outputs.append(Output(topic, open_key, value, partition=partition_of(view, key, count)))
    return begun._replace(told_us=found.to_us)


def take_open(draft: Draft, view: View, keys: Sequence[bytes], values: Sequence[bytes]) -> None:
    """Note rows that tasks have told; none for a mark that there cannot be."""
    told = dict(zip(keys, map(decode_open, values), strict=True))
    possible = [(key, closed_to_us) for key, closed_to_us in told.items() if is_possible(view, closed_to_us)]
    for key, closed_to_us in possible:
        draft.keep(key, encode_open(closed_to_us))
    if possible:
        draft.effects.append(OpenRowsChanged(view.name, possible))


def forget_overtaken(draft: Draft, view: View) -> None:
    """Drop the rows that are open no more, in bounded steps."""
    marks_us = {task: mark.closed_to_us for task, mark in draft.state.marks[view.name].items()}
    gone = draft.state.open_rows[view.name].overtaken(marks_us, OVERTAKEN_ROWS)
    for key in gone:
        draft.keep(key, None)
    if gone:
        draft.effects.append(OpenRowsChanged(view.name, (), gone))


def are_held(state: TaskState, view: View, slots: Int64s) -> npt.NDArray[np.bool_]:
    """Which of the rows that wait an open row of their group touches: one that begins by their end."""
    open_rows, waiting = state.open_rows[view.name], state.closings[view.name]
    if not len(open_rows):
        return np.zeros(len(slots), np.bool_)
    rows, ends = waiting.rows_at(slots), kernel_of(view).ends(waiting, slots).tolist()
    keys = encode_keys(view, rows.windows, rows.groups, len(rows))
    held = [open_rows.any_begins_by(group_in(key), end_us) for key, end_us in zip(keys, ends, strict=True)]
    return np.array(held, np.bool_)
