"""Generated life cycles of rides: a START, an END and a fare each, of the generator's clean rides.

Lifecycle(seed=7).block(first=0, count=100_000)
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from app.rides.generator.demand import MAX_NUMBER
from app.rides.generator.dirt import Dirt
from app.rides.generator.draws import Draws
from app.rides.generator.generator import DEFAULT_START, Generator
from app.rides.generator.trips import longest_seconds
from app.rides.lifecycle.dirt import LifecycleDirt, Sending, sending
from app.rides.lifecycle.fleet import crew, whole_shifts
from app.rides.lifecycle.sources import END, FARES, RIDE_EVENTS, START

PAYING_SECONDS = 120
"""A fare is paid at most so long after the drop-off."""


class Block(NamedTuple):
    """Records of a block of rides, each topic's by `clock_ms`, its Kafka timestamp: when the record is sent."""

    events: pl.DataFrame
    fares: pl.DataFrame


@dataclass(frozen=True)
class Lifecycle:
    """The life cycles of rides 0, 1, 2, ...: of those that `Generator` makes without dirt.

    `seed`, `start` and `rides_per_day` are the generator's. Same arguments, same records, in whatever blocks.
    """

    seed: int
    start: dt.datetime = DEFAULT_START
    rides_per_day: int = 400_000
    dirt: LifecycleDirt = field(default_factory=LifecycleDirt.real)

    def __post_init__(self) -> None:
        _ = self.generator  # it refuses what cannot be used

    @cached_property
    def generator(self) -> Generator:
        """Of the rides themselves."""
        return Generator(self.seed, self.start, self.rides_per_day, Dirt.none())

    def require(self, first: int, count: int) -> None:
        """ValueError where `block` would raise it for these numbers: crews are found for whole shifts."""
        end = whole_shifts(self.generator, first + count)
        self.generator.require(first, max(first + count, min(end, MAX_NUMBER)) - first)

    def rides(self, first: int, count: int) -> pl.DataFrame:
        """The rides numbered from `first`, `count` of them, with `taxi_id` and `driver_id`."""
        driven = crew(self.generator, first, count)
        ids = {"taxi_id": driven.taxi_ids, "driver_id": driven.driver_ids}
        return self.generator.rides(first, count).with_columns(pl.Series(name, held) for name, held in ids.items())

    def block(self, first: int, count: int) -> Block:
        """All records of the rides numbered from `first`, `count` of them."""
        rides = self.rides(first, count)
        draws, dirt = Draws(self.seed, np.arange(first, first + count, dtype=np.int64)), self.dirt
        starts = _sent(_event(rides, START, "pickup"), "happened_at_us", sending(dirt, draws, "start"))
        ends = _sent(_event(rides, END, "dropoff"), "happened_at_us", sending(dirt, draws, "end", dirt.missing_ends))
        fares = _fares(rides, draws)
        paid = _sent(fares, "paid_at_us", sending(dirt, draws, "fare", dirt.missing_fares, dirt.late_fares))
        return Block(pl.concat([starts, ends]).sort("clock_ms", maintain_order=True), paid.drop_nulls("fare_cents"))

    def earliest_ms(self, first: int) -> int:
        """No record of the rides from number `first` on is sent before this Kafka timestamp."""
        return int(self.generator.rides(first, 1)["clock_ms"][0]) - longest_seconds() * 1_000


def _event(rides: pl.DataFrame, kind: str, end: str) -> pl.DataFrame:
    told = {"zone": f"{end}_zone", "happened_at_us": f"{end}_at_us"}
    taken = rides.with_columns(pl.lit(kind).alias("kind"), *(pl.col(of).alias(name) for name, of in told.items()))
    return taken.select(column.name for column in RIDE_EVENTS.columns)


def _fares(rides: pl.DataFrame, draws: Draws) -> pl.DataFrame:
    """What rides cost, where the service publishes it (FHV does not); HVFHV's total is the sum of its parts."""
    parts = ("fare_cents", "tip_cents", "tolls_cents", "congestion_surcharge_cents", "airport_fee_cents")
    more = ("cbd_congestion_fee_cents", "black_car_fund_cents", "sales_tax_cents")
    paying_us = pl.Series(draws.below("paying", PAYING_SECONDS) * 1_000_000)
    return rides.with_columns(
        pl.col("tip_cents").fill_null(0),
        pl.coalesce("total_cents", pl.sum_horizontal(*parts, *more)).alias("total_cents"),
        (pl.col("dropoff_at_us") + paying_us).alias("paid_at_us"),
    ).select(column.name for column in FARES.columns)


def _sent(records: pl.DataFrame, at: str, how: Sending) -> pl.DataFrame:
    """The records that are sent, some twice, by the time of their sending."""
    sent_us = records[at].to_numpy() + how.delay_us
    timed = records.with_columns(pl.Series("clock_ms", sent_us // 1_000))
    again = records.with_columns(pl.Series("clock_ms", (sent_us + how.again_us) // 1_000))
    both = pl.concat([timed.filter(pl.Series(how.sent)), again.filter(pl.Series(how.again))])
    return both.sort("clock_ms", maintain_order=True)
