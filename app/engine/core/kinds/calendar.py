"""Days and hours of a time zone, in columns."""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.windows.calendar import Calendar
from app.engine.core.kinds.contract import Kernel, Placed, instants_of, windows_of
from app.engine.core.kinds.loops import place_between
from app.engine.core.records.usable import Usable
from app.engine.core.rows.state import ViewState


class CalendarKernel(Kernel[Calendar]):
    def place(self, usable: Usable) -> Placed:
        windows, fates = np.zeros(len(usable), np.int64), np.empty(len(usable), np.int8)
        instants, grace_us = instants_of(usable, self.window.column), self.view.grace_us
        place_between(*instants, self._boundaries_us, grace_us, windows, fates)
        return Placed(windows, None, fates)

    def ends(self, state: ViewState, slots: Int64s) -> Int64s:
        after = np.searchsorted(self._boundaries_us, windows_of(state, slots), side="right")
        ends: Int64s = self._boundaries_us[after]
        return ends

    @property
    def _boundaries_us(self) -> Int64s:
        """As an array, without a copy."""
        return np.frombuffer(self.window.boundaries.instants, np.int64)
