"""The kernel of each kind of window."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from app.domain.view import View
from app.domain.windows.all_time import AllTime
from app.domain.windows.calendar import Calendar
from app.domain.windows.contract import Window
from app.domain.windows.hopping import Hopping
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.engine.core.kinds.all_time import AllTimeKernel
from app.engine.core.kinds.calendar import CalendarKernel
from app.engine.core.kinds.contract import Kernel
from app.engine.core.kinds.hopping import HoppingKernel
from app.engine.core.kinds.session import SessionKernel
from app.engine.core.kinds.tumbling import TumblingKernel

KERNELS: Mapping[type[Window], type[Kernel[Any]]] = {
    Tumbling: TumblingKernel,
    Hopping: HoppingKernel,
    Calendar: CalendarKernel,
    Session: SessionKernel,
    AllTime: AllTimeKernel,
}


@lru_cache
def kernel_of(view: View) -> Kernel[Any]:
    """What the engine does for the view's kind of window."""
    return KERNELS[type(view.window)](view, view.window)
