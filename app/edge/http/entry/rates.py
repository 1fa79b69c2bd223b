"""How often a caller may ask: a bucket for each, which fills while it does not."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil

from app.base.setting_groups import variable
from app.edge.http.problems import Problem

MOST_CALLERS = 10_000
"""Of whom is known how much they asked; of more, those who asked last."""


class Rates:
    """So many requests a second for each caller, and as many at once after a second without any; 0: any."""

    def __init__(self, per_second: float, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._most, self._now = per_second, max(per_second, 1.0), now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def taken(self, caller: str) -> float:
        """Count a request: 0 where it may be answered, else after how many seconds one may."""
        if not self._per_second:
            return 0.0
        now = self._now()
        left, at = self._left.pop(caller, (self._most, now))
        left = min(self._most, left + (now - at) * self._per_second)
        self._left[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > MOST_CALLERS:
            self._left.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / self._per_second

    def too_often(self, wait_seconds: float) -> Problem:
        """The problem of a request that comes too early, as drafts of RateLimit headers have it."""
        seconds = ceil(wait_seconds)
        headers = {
            "Retry-After": str(seconds),
            "RateLimit-Policy": f'"caller";q={self._most:.0f};w={ceil(self._most / self._per_second)}',
            "RateLimit": f'"caller";r=0;t={seconds}',
        }
        allowed = f"{self._per_second:g} requests a second ({variable('access_rate_per_second')})"
        return Problem("too-often", f"A caller may make {allowed}. Ask again in {seconds} s.", headers=headers)
