"""A broker gathers records for a busy worker, and tells a quiet one of the first at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.engine.drive.faust_parts.fetch_pace import QUIET_SECONDS, QUIET_WAIT_MS, FetchPace


class Paced:
    """A pace with its clock."""

    def __init__(self, max_wait_ms: int = 40) -> None:
        self.now = 100.0
        self.fetcher: Any = SimpleNamespace(_fetch_min_bytes=250_000, _fetch_max_wait_ms=max_wait_ms)
        self.pace = FetchPace(self.fetcher, lambda: self.now)

    def after(self, seconds: float, *, records: bool) -> tuple[int, int]:
        self.now += seconds
        self.pace.saw(records=records)
        return self.fetcher._fetch_min_bytes, self.fetcher._fetch_max_wait_ms


def test_a_worker_that_sees_nothing_for_a_second_waits_for_the_next_record_until_it_comes() -> None:
    paced = Paced()
    assert paced.after(QUIET_SECONDS - 0.1, records=False) == (250_000, 40)
    assert paced.after(0.1, records=False) == (1, QUIET_WAIT_MS)
    assert paced.after(3600, records=False) == (1, QUIET_WAIT_MS)
    assert paced.after(0, records=True) == (250_000, 40)


def test_a_trickle_is_no_quiet() -> None:
    paced = Paced()
    for _ in range(100):
        assert paced.after(QUIET_SECONDS / 2, records=False) == (250_000, 40)
        assert paced.after(QUIET_SECONDS / 4, records=True) == (250_000, 40)


@pytest.mark.parametrize("max_wait_ms", [1, QUIET_WAIT_MS, 60_000])
def test_a_quiet_worker_waits_no_shorter_than_it_is_told_to(max_wait_ms: int) -> None:
    assert Paced(max_wait_ms).after(QUIET_SECONDS, records=False) == (1, max(QUIET_WAIT_MS, max_wait_ms))
