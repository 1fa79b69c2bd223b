"""One window for all records: nothing is placed, nothing ends."""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.windows.all_time import AllTime
from app.engine.core.kinds.contract import Kernel, Placed
from app.engine.core.records.usable import Usable
from app.engine.core.rows.state import ViewState


class AllTimeKernel(Kernel[AllTime]):
    def place(self, usable: Usable) -> Placed:
        return Placed(np.zeros(len(usable), np.int64), None, np.zeros(len(usable), np.int8))

    def ends(self, state: ViewState, slots: Int64s) -> Int64s:
        raise ValueError(f"{self.view.name}: a row of an all-time view never ends")
