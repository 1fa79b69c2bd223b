"""The dirt of real data, each kind with the share of rides that has it.

The default rates are those of the TLC files described in docs/generator.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import polars as pl
from polars import selectors

from app.codecs.arrays import Int64s
from app.rides.generator.draws import Bools, Draws
from app.rides.ride import HOUR_US

STRAY_DAYS_US = (1_230_681_600_000_000, 4_039_372_800_000_000)
"""2008-12-31 and 2098-01-01, 00:00 UTC: a past that real files show, and a future no clock believes."""

MAX_TWIN_RATE = 0.25
MAX_DUPLICATE_LAG = 4_096
"""A duplicate comes at most so many rides after the first: a quarter of an hour at 400,000 a day."""

_NULL_BLOCK = (
    "passenger_count",
    "rate_code",
    "payment_type",
    "trip_type",
    "stored_and_forwarded",
    "congestion_surcharge_cents",
    "airport_fee_cents",
)


@dataclass(frozen=True, slots=True)
class Dirt:
    """Share of the rides, 0 to 1, with each kind of dirt; `refunds` and `duplicates` at most 0.25.

    disorder: sent up to a quarter of an hour after the drop-off. late: up to two days after. stray_years: in
    2008 or 2098. null_blocks: passenger count, rate code, payment type, ... null all at once. refunds: with
    all amounts negative, followed by its positive twin. zero_distances: driven nowhere. duplicates: the same
    record, ride id and all, again.
    """

    disorder: float = 0.25
    late: float = 0.002
    stray_years: float = 0.0001
    null_blocks: float = 0.07
    refunds: float = 0.003
    zero_distances: float = 0.02
    duplicates: float = 0.0005

    def __post_init__(self) -> None:
        for field in fields(self):
            rate = getattr(self, field.name)
            limit = MAX_TWIN_RATE if field.name in ("refunds", "duplicates") else 1.0
            if not 0 <= rate <= limit:
                raise ValueError(f"dirt {field.name}={rate}: a share of the rides from 0 to {limit} is needed")

    @classmethod
    def real(cls) -> Dirt:
        """The rates of real files."""
        return cls()

    @classmethod
    def none(cls) -> Dirt:
        """No dirt of any kind."""
        return cls(**{field.name: 0.0 for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Origins:
    """Per ride: `ids`, the number that its ride id comes from; `rides`, the number that the rest comes from.

    `refund`: it is the negative twin of number `rides`.
    """

    ids: Int64s
    rides: Int64s
    refund: Bools


def origins(dirt: Dirt, seed: int, numbers: Int64s) -> Origins:
    """Which ride each number repeats: itself, or an earlier one (duplicate), or the next one (refund).

    Duplicates stand at multiples of 4 and repeat odd numbers, refunds at 2 more, before their odd twin: so
    none is a copy of a copy, and every copy's first is there.
    """
    draws, twins = Draws(seed, numbers), Draws(seed, numbers | 1)
    lag = draws.below("duplicate lag", MAX_DUPLICATE_LAG // 2) * 2 + 1
    duplicate = (numbers % 4 == 0) & draws.happens("duplicate", dirt.duplicates * 4) & (lag <= numbers)
    refund = (numbers % 4 == 2) & has_refund(dirt, twins, numbers | 1)
    ids = np.where(duplicate, numbers - lag, numbers)
    return Origins(ids, ids + refund, refund)


def has_refund(dirt: Dirt, draws: Draws, rides: Int64s) -> Bools:
    """Whether a negative twin stands before a ride; `draws` are those of `rides`."""
    odd: Bools = rides % 4 == 3
    return odd & draws.happens("refund", dirt.refunds * 4)


def soil(rides: pl.DataFrame, dirt: Dirt, draws: Draws, refund: Bools) -> pl.DataFrame:
    """`rides` with the dirt in times, columns and amounts; `refund`: which of them are a negative twin."""
    delay_us, stray_to_us = _delays_us(dirt, draws), _stray_to_us(dirt, draws)
    null_block = pl.Series(draws.happens("null block", dirt.null_blocks))
    no_distance = pl.Series(draws.happens("zero distance", dirt.zero_distances))
    times = ("pickup_at_us", "dropoff_at_us", "requested_at_us", "on_scene_at_us")
    moved_us = (stray_to_us - rides["pickup_at_us"]).fill_null(-delay_us)
    rides = rides.with_columns(pl.col(*times) + moved_us)
    rides = rides.with_columns(pl.when(~null_block).then(pl.col(*_NULL_BLOCK)))
    rides = rides.with_columns(pl.col("distance_hundredth_miles") * ~no_distance)
    sign = pl.Series(1 - 2 * refund.astype(np.int64))
    return rides.with_columns(selectors.ends_with("_cents") * sign)


def _delays_us(dirt: Dirt, draws: Draws) -> pl.Series:
    """How long after its drop-off each ride is sent."""
    minutes_us = draws.below("disorder delay", 15 * 60) * 1_000_000
    hours_us = HOUR_US + draws.below("late delay", 47 * 3600) * 1_000_000
    late = draws.happens("late", dirt.late)
    disorder = draws.happens("disorder", dirt.disorder)
    return pl.Series(np.where(late, hours_us, np.where(disorder, minutes_us, 0)))


def _stray_to_us(dirt: Dirt, draws: Draws) -> pl.Series:
    """The pick-up of rides in a stray year; null for all others."""
    day_us = np.array(STRAY_DAYS_US)[draws.below("stray year", 2)]
    stray_us = day_us + draws.below("stray time", 86_400) * 1_000_000
    return pl.Series(stray_us).set(pl.Series(~draws.happens("stray", dirt.stray_years)), None)
