"""Sessions, in columns: rows of a group that become one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.windows.session import Session
from app.engine.core.cells.grouping import APPLIED
from app.engine.core.cells.sessions import Touching, touching
from app.engine.core.draft import Draft
from app.engine.core.kinds.contract import FoundRows, Kernel, Placed, earliest, instants_of, windows_of
from app.engine.core.kinds.loops import place
from app.engine.core.records.usable import Usable
from app.engine.core.rows.state import Rows, ViewState
from app.engine.core.task_state import RowsChanged


class SessionKernel(Kernel[Session]):
    def place(self, usable: Usable) -> Placed:
        windows, fates = np.empty(len(usable), np.int64), np.empty(len(usable), np.int8)
        place(*instants_of(usable, self.window.column), 1, 0, 0, self.view.grace_us, windows, fates)
        return Placed(windows, None, fates)

    def together(self, groups: Sequence[Int64s], placed: Placed) -> Int64s:
        """The start of the session that each applied record has with the others here."""
        instants, starts = placed.windows, placed.windows.copy()
        applied = np.flatnonzero(placed.fates == APPLIED)
        order = applied[np.lexsort([instants[applied], *(group[applied] for group in groups)])]
        if len(order):
            begins = np.diff(instants[order], prepend=instants[order[0]]) > self.window.gap_us
            for group in groups:
                begins[1:] |= group[order[1:]] != group[order[:-1]]
            begins[0] = True
            starts[order] = instants[order][begins][np.cumsum(begins) - 1]
        return starts

    def change(self, draft: Draft, rows: Rows) -> None:
        if not len(rows):
            return
        met = self.touching(draft.state.views[self.view.name], rows)
        draft.keep_rows(self.view, met.rows)
        draft.drop_rows(self.view, met.swallowed)
        draft.effects.append(RowsChanged(self.view.name, met.change))

    def touching(self, state: ViewState, rows: Rows) -> Touching:
        return touching(self.window.gap_us, state, rows)

    def ends(self, state: ViewState, slots: Int64s) -> Int64s:
        return state.cell_at(slots, self.view.last_at) + self.window.gap_us

    def next_open(self, state: ViewState, after_us: int | None, to_us: int, most: int) -> FoundRows:
        slots = state.find(from_us=None if after_us is None else after_us + 1, until_us=to_us + 1)
        slots = slots[self.ends(state, slots) > to_us]
        return earliest(slots, windows_of(state, slots), to_us, most)

    def _that_may_end(self, state: ViewState, after_us: int | None, to_us: int) -> Int64s:
        return state.find(until_us=to_us + 1)
