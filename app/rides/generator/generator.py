"""Generated rides: like New York's, dirt included, and any ride a pure function of seed and number.

Generator(seed=7).rides(first=0, count=100_000)
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from app.codecs.arrays import Int64s
from app.domain.event_time import YEAR_2000_US
from app.rides.frames import ride_columns
from app.rides.generator.demand import LAST_REPORT, MAX_NUMBER, Demand
from app.rides.generator.dirt import Dirt, has_refund, origins, soil
from app.rides.generator.draws import Draws
from app.rides.generator.meter import charge
from app.rides.generator.trips import drive
from app.rides.generator.zone_shares import SERVICES
from app.rides.ride_id import hex_digits

DEFAULT_START = dt.datetime(2026, 1, 5, 5, tzinfo=dt.UTC)
"""A Monday, midnight in New York."""
EARLIEST_START = dt.datetime.fromtimestamp(YEAR_2000_US // 1_000_000, dt.UTC) + dt.timedelta(days=5)
"""Instants of a ride may be as old as the year 2000, and those of a long ride that is sent late are four days older."""


@dataclass(frozen=True)
class Generator:
    """Rides 0, 1, 2, ... in order of the time at which they are reported.

    `start`: a time with zone, at which number 0 may be reported. `rides_per_day`: the mean over a week, all
    services together. Same arguments, same rides, whatever blocks they are made in.
    """

    seed: int
    start: dt.datetime = DEFAULT_START
    rides_per_day: int = 400_000
    dirt: Dirt = field(default_factory=Dirt.real)

    def __post_init__(self) -> None:
        if self.start.tzinfo is None:
            raise ValueError(f"start {self.start} has no time zone; add one, e.g. +00:00")
        if not EARLIEST_START <= self.start <= LAST_REPORT:
            raise ValueError(
                f"start {self.start.isoformat()} is not from {EARLIEST_START.isoformat()} to "
                f"{LAST_REPORT.isoformat()}: topics take no ride with an instant before 2000 or after 2099"
            )
        if not 0 < self.rides_per_day <= MAX_NUMBER:
            raise ValueError(f"rides_per_day must be from 1 to {MAX_NUMBER}, not {self.rides_per_day}")

    def rides(self, first: int, count: int) -> pl.DataFrame:
        """The rides numbered from `first`, `count` of them: a ride frame with `service` and `clock_ms`.

        `clock_ms`, the Kafka timestamp, never falls: the time that the clean ride of that number is reported
        at, whatever the dirt has made of it.
        """
        _check_numbers(first, count)
        numbers = np.arange(first, first + count, dtype=np.int64)
        origin = origins(self.dirt, self.seed, numbers)
        draws = Draws(self.seed, origin.rides)
        reported_us, hour_of_week = self._reported(origin.rides, draws)
        trips = drive(draws, reported_us, hour_of_week)
        charged = charge(draws, trips, has_refund(self.dirt, draws, origin.rides))
        soiled = soil(charged, self.dirt, draws, origin.refund)
        clock_us, _ = self._reported(numbers, Draws(self.seed, numbers))
        service = pl.Series("service", SERVICES)[charged["service_number"]]
        clock_ms = pl.Series("clock_ms", clock_us // 1_000)
        return ride_columns(soiled.with_columns(self._ride_ids(origin.ids))).with_columns(service, clock_ms)

    def require(self, first: int, count: int) -> None:
        """ValueError where `rides` would raise it for these numbers, in whatever blocks."""
        _check_numbers(first, count)
        beyond = np.array([first + count])  # a refund is made of the ride behind it
        self._reported(beyond, Draws(self.seed, beyond))

    def _reported(self, numbers: Int64s, draws: Draws) -> tuple[Int64s, Int64s]:
        jitter = draws.below("jitter", 1 << 16)
        return Demand(int(self.start.timestamp()) * 1_000_000, self.rides_per_day).reported_us(numbers, jitter)

    def _ride_ids(self, numbers: Int64s) -> pl.Series:
        draws = Draws(self.seed, numbers)
        return hex_digits(draws.words("ride id, high"), draws.words("ride id, low")).alias("ride_id")


def _check_numbers(first: int, count: int) -> None:
    if first < 0 or count < 0 or first + count > MAX_NUMBER:
        raise ValueError(f"rides {first} to {first + count}: numbers go from 0 to {MAX_NUMBER}")
