"""When the generated rides end: New York's week, busy and quiet hours, as a clock over ride numbers."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

import numpy as np
import polars as pl

from app.codecs.arrays import Int64s
from app.domain.event_time import YEAR_2100_US
from app.domain.windows.durations import SECOND_US
from app.rides.new_york import ZONE
from app.rides.ride import HOUR_US

# Rides per hour of the day, thousandths of the mean hour of a week; from TLC's yellow 2019 and Uber 2020-22.
WEEKDAY = (
    *(616, 371, 230, 176, 200, 346, 641, 1038, 1346, 1164, 1056, 1050),
    *(1129, 1209, 1258, 1322, 1261, 1456, 1541, 1502, 1279, 1275, 1174, 1017),
)
WEEKEND = (
    *(1309, 1008, 803, 539, 401, 315, 345, 523, 599, 871, 1062, 1069),
    *(1174, 1314, 1337, 1385, 1448, 1324, 1493, 1453, 1375, 1326, 1215, 1171),
)

LAST_REPORT = dt.datetime.fromtimestamp(YEAR_2100_US // SECOND_US, dt.UTC) - dt.timedelta(days=1)
"""No ride is reported after it: what follows one, such as its fare, is an instant that topics take, too."""
_LAST_US = YEAR_2100_US - 24 * HOUR_US

MAX_NUMBER = 10**9
"""Above it the arithmetic of places would overflow."""

_FINE = 16  # bits by which a ride's place is finer than a thousandth of a mean hour


class Demand:
    """The clock: ride number to the instant at which the ride is reported, never falling with the number."""

    def __init__(self, start_us: int, rides_per_day: int) -> None:
        """`start_us`: instant at which number 0 may be reported. `rides_per_day`: mean over whole weeks."""
        self._start_us = start_us
        self._rides_per_day = rides_per_day

    def reported_us(self, numbers: Int64s, jitter: Int64s) -> tuple[Int64s, Int64s]:
        """For each ride its instant, whole seconds, and its New York hour of the week (0 = Monday, 0:00).

        `jitter`: 16 random bits per ride, its place between its neighbours. Raises ValueError beyond LAST_REPORT.
        """
        place = ((numbers << _FINE) + jitter) * 24_000 // self._rides_per_day
        table = self._hours(int(place.max(initial=0)))
        if table is None:
            raise self._too_late(numbers)
        upto, hours_of_week = table
        hour = upto.searchsorted(place, side="right") - 1
        weight = upto[hour + 1] - upto[hour]
        offset_us = (place - upto[hour]) * HOUR_US // weight
        at_us = self._start_us + hour * HOUR_US + offset_us
        if at_us.max(initial=0) > _LAST_US:
            raise self._too_late(numbers)
        return at_us // SECOND_US * SECOND_US, hours_of_week[hour]

    def _hours(self, place: int) -> tuple[Int64s, Int64s] | None:
        """Demand up to each hour since the start, in places, to beyond `place`; and hours of the week.

        None where all hours to LAST_REPORT are not enough.
        """
        covered, count = 0, 256
        while self._start_us + covered * HOUR_US <= _LAST_US:
            upto, hours_of_week = _hour_table(self._start_us, count)
            if upto[-1] > place:
                return upto, hours_of_week
            covered, count = count, 2 * count
        return None

    def _too_late(self, numbers: Int64s) -> ValueError:
        return ValueError(
            f"at {self._rides_per_day} rides a day ride {numbers.max()} is reported after {LAST_REPORT.isoformat()}, "
            "and no instant of a ride is after that year: begin earlier, ask for lower numbers or for more a day"
        )


@lru_cache(maxsize=64)
def _hour_table(start_us: int, count: int) -> tuple[Int64s, Int64s]:
    starts = pl.Series(start_us + np.arange(count, dtype=np.int64) * HOUR_US)
    local = pl.from_epoch(starts, "us").dt.replace_time_zone("UTC").dt.convert_time_zone(ZONE)
    hours_of_week = ((local.dt.weekday().cast(pl.Int64) - 1) * 24 + local.dt.hour().cast(pl.Int64)).to_numpy()
    weights = np.array(WEEKDAY * 5 + WEEKEND * 2, dtype=np.int64)[hours_of_week]
    upto = np.concatenate([np.zeros(1, dtype=np.int64), weights.cumsum()]) << _FINE
    return upto, hours_of_week
