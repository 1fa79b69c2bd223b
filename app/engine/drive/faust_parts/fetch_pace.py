"""How long a broker may keep a fetch, by what has come lately."""

from __future__ import annotations

import time
from collections.abc import Callable

from aiokafka.consumer.fetcher import Fetcher

QUIET_SECONDS = 1.0
"""Without a record for so long, a worker is quiet."""
QUIET_WAIT_MS = 500
"""A quiet worker's fetch. Partitions that it is given meanwhile wait for the end of it, at the broker that has it."""
ONE_RECORD = 1
"""Bytes: whatever there is."""


class FetchPace:
    """While records come, the broker gathers them as the settings say. A quiet worker is told of the first one at once,
    and asks twice a second in place of 25 times."""

    def __init__(self, fetcher: Fetcher, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetcher, self._clock = fetcher, clock
        self._busy = (fetcher._fetch_min_bytes, fetcher._fetch_max_wait_ms)
        self._quiet = (ONE_RECORD, max(QUIET_WAIT_MS, fetcher._fetch_max_wait_ms))
        self._last_record_at = clock()

    def saw(self, *, records: bool) -> None:
        """A fetch has given records, or none has for a while: what holds for the next one."""
        now = self._clock()
        if records:
            self._last_record_at = now
        is_quiet = now - self._last_record_at >= QUIET_SECONDS
        self._fetcher._fetch_min_bytes, self._fetcher._fetch_max_wait_ms = self._quiet if is_quiet else self._busy
