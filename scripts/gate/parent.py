"""Children that do not outlive who started them, however that ends."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
PRCTL = getattr(ctypes.CDLL(None), "prctl", None)
"""Looked up here, as a child that begins should call as little as it can."""


def ends_with_parent(number: signal.Signals) -> Callable[[], None]:
    """A `preexec_fn` of subprocess: the child gets the signal when its parent is gone, by KILL too, where the system
    can do that (Linux). Its parent is the thread that starts it: one that lives as long as the process.
    """
    parent = os.getpid()

    def begin() -> None:
        if PRCTL is not None and not PRCTL(PR_SET_PDEATHSIG, number) and os.getppid() != parent:
            os.kill(os.getpid(), number)  # it was gone before

    return begin
