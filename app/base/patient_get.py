"""A GET that waits its turn: asked again while a worker is giving as many exports as it may."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

TOO_MANY = 429
SHORTEST_SECONDS = 0.1


def get_patiently(
    ask: Callable[[], httpx.Response], patience_seconds: float, sleep: Callable[[float], None] = time.sleep
) -> httpx.Response:
    """The first answer that is not 429, or the last one within the patience; in between it waits as long as is told."""
    until = time.monotonic() + patience_seconds
    while True:
        answer = ask()
        told = answer.headers.get("Retry-After", "")
        wait_seconds = max(SHORTEST_SECONDS, float(told) if told.isdecimal() else 1.0)
        if answer.status_code != TOO_MANY or time.monotonic() + wait_seconds > until:
            return answer
        sleep(wait_seconds)
