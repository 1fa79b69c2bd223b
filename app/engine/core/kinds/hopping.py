"""Windows that overlap, in columns: panes are stored, windows are folded from them."""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.windows.hopping import Hopping
from app.engine.core.cells.overlapping import next_closed
from app.engine.core.kinds.contract import Closed, Kernel, Placed, instants_of, windows_of
from app.engine.core.kinds.loops import place_overlapping
from app.engine.core.records.usable import Usable
from app.engine.core.rows.state import ViewState


class HoppingKernel(Kernel[Hopping]):
    def place(self, usable: Usable) -> Placed:
        windows, first_windows = np.zeros(len(usable), np.int64), np.zeros(len(usable), np.int64)
        fates = np.empty(len(usable), np.int8)
        instants, spans = instants_of(usable, self.window.column), (*self.window.overlap, self.view.grace_us)
        place_overlapping(*instants, *spans, windows, first_windows, fates)
        return Placed(windows, first_windows, fates)

    def ends(self, state: ViewState, slots: Int64s) -> Int64s:
        size_us, step_us, offset_us = self.window.overlap
        return (windows_of(state, slots) - offset_us) // step_us * step_us + (offset_us + size_us)

    def next_closed(self, state: ViewState, after_us: int | None, to_us: int, most: int) -> Closed:
        return Closed(*next_closed(state, self.window.overlap, after_us, to_us, most))
