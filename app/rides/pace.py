"""Rides at the speed of their own clock, or a multiple of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import polars as pl

STEP_SECONDS = 0.2
"""Rides of this much real time are sent together."""


class Pace:
    """Cuts frames into parts and waits before each until its time has come.

    `times_real`: 60 sends an hour of rides in a minute; None sends as fast as possible. One pace for one run: its
    first ride sets the start.
    """

    def __init__(
        self,
        times_real: float | None,
        now: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        if times_real is not None and times_real <= 0:
            raise ValueError(f"a speed of {times_real} times real time never sends anything")
        self._times_real = times_real
        self._now, self._wait = now, wait
        self._start: tuple[float, int] | None = None

    def parts(self, rides: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The frame's rides in order, each part when its first ride is due. `clock_ms` must not fall."""
        if self._times_real is None or rides.is_empty():
            yield rides
            return
        if self._start is None:
            self._start = (self._now(), rides["clock_ms"][0])
        started_at, first_ms = self._start
        step_ms = max(1, round(STEP_SECONDS * 1000 * self._times_real))
        steps = ((pl.col("clock_ms") - first_ms) // step_ms).alias("step")
        for part in rides.with_columns(steps).partition_by("step", maintain_order=True, include_key=False):
            due_at = started_at + (part["clock_ms"][0] - first_ms) / 1000 / self._times_real
            if (early := due_at - self._now()) > 0:
                self._wait(early)
            yield part
