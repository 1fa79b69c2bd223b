"""A view that comes back: what the changelog holds of its former life is deleted before it is built (rule 13).

Until then nothing is written for it, so all that is found there after a crash is of its former life, too. What it had
sent to the closing stage stays there: other tasks count on it, and it is not sent again (`Marker.closed_before`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.stored.changelog import block_head
from app.domain.marker import CLEARING
from app.domain.view import View
from app.engine.core.completing import built_so_far
from app.engine.core.draft import Draft
from app.engine.core.rows.state import ViewChange
from app.engine.core.task_state import RowsChanged, TaskState

CLEARED_ROWS = 20_000
"""Most that leave in one transaction."""


@dataclass(frozen=True, slots=True)
class BlocksForgotten:
    """Blocks that are gone, by changelog key."""

    keys: list[bytes]

    def swap_in(self, state: TaskState) -> None:
        for key in self.keys:
            del state.blocks[key]


def holds(state: TaskState, view: View) -> bool:
    """Whether there are rows or blocks of the view, or what tasks have closed of it."""
    closed = view.name in state.marks and (len(state.closings[view.name]) or state.marks[view.name])
    return bool(len(state.views[view.name]) or closed) or any(_blocks(state, view))


def clear(draft: Draft, view: View) -> None:
    """Delete some of the rows of a view that is CLEARING; with the last of them, and the blocks, the view begins."""
    position, state = draft.marker.views[view.name], draft.state.views[view.name]
    if position.state != CLEARING:
        return
    slots = state.find()[:CLEARED_ROWS]
    _drop(draft, view, slots)
    if len(slots) == len(state):
        keys = list(_blocks(draft.state, view))
        for key in keys:
            draft.keep(key, None)
        draft.effects.append(BlocksForgotten(keys))
        draft.move_view(view.name, built_so_far(position, draft.marker.inputs))


def _drop(draft: Draft, view: View, slots: Int64s) -> None:
    rows = draft.state.views[view.name].rows_at(slots)
    draft.drop_rows(view, rows)
    nothing = rows.at(np.zeros(0, np.intp))
    change = ViewChange(slots[:0], nothing.cells, nothing, slots)
    draft.effects.append(RowsChanged(view.name, change))


def _blocks(state: TaskState, view: View) -> Iterator[bytes]:
    head = block_head(view.number, view.version)
    return (key for key in state.blocks if key.startswith(head))
