"""Windows of one length, in columns."""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.windows.tumbling import Tumbling
from app.engine.core.kinds.contract import Kernel, Placed, instants_of, windows_of
from app.engine.core.kinds.loops import place
from app.engine.core.records.usable import Usable
from app.engine.core.rows.state import ViewState


class TumblingKernel(Kernel[Tumbling]):
    def place(self, usable: Usable) -> Placed:
        windows, fates = np.empty(len(usable), np.int64), np.empty(len(usable), np.int8)
        (size_us, offset_us), grace_us = self.window.panes, self.view.grace_us
        place(*instants_of(usable, self.window.column), size_us, offset_us, size_us, grace_us, windows, fates)
        return Placed(windows, None, fates)

    def ends(self, state: ViewState, slots: Int64s) -> Int64s:
        return windows_of(state, slots) + self.window.size_us
