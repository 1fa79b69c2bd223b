"""The order in which the rides of TLC files are sent again, and the clock that they are sent by (rule 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal
from uuid import uuid4

import numpy as np
import polars as pl

from app.rides.frames import reported_at_us
from app.rides.ride import DAY_US
from app.rides.ride_id import with_ride_id
from app.rides.tlc.identity import Period
from app.rides.tlc.merge import merged
from app.rides.tlc.read import TlcFile
from app.rides.tlc.spill import Spill

By = Literal["reported", "pickup", "file"]

HELD_RIDES = 100_000
"""Rides of all files that are in memory at once, more where more are of one time: a bin of each file."""
MOST_BINS = 256
"""Of a file: as many files are open at once."""
SAMPLED_OF = 16
"""One ride of so many tells how a file's times are spread."""


def replay_order(files: Sequence[TlcFile], folder: Path, by: By = "reported") -> Iterator[pl.DataFrame]:
    """All rides of `files` in sending order, frame by frame; `row`, `service`, `file` and `clock_ms` beside the ride
    columns. Rides wait below `folder` where they are sorted.

    `clock_ms`, the Kafka timestamp, never falls: per file the highest `reported_at` so far within the file's
    months and a day on either side. A ride reported outside keeps its own times and is sent with the clock's
    present value; `reported` and `pickup` put such rides at the file's beginning or end.
    Each file keeps its own order (`file` leaves it as published); several are merged by their clocks, an
    earlier one of `files` first where clocks are equal. Raises NoRoom.
    """
    if not files:
        raise ValueError("no files to put in order")
    bin_rides = -(-HELD_RIDES // len(files))
    clock_ms = (pl.col("clock_us") // 1_000).alias("clock_ms")
    for frame in merged([_with_clock(file, _ordered(file, folder, by, bin_rides)) for file in files]):
        yield frame.with_columns(clock_ms).drop("clock_us")


def _with_clock(file: TlcFile, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    low_us, high_us = _accepted(file.period)
    reported = reported_at_us()
    in_period = pl.when(reported.is_between(low_us, high_us, closed="left")).then(reported)
    origin = (pl.lit(file.service).alias("service"), pl.lit(str(file.path)).alias("file"))
    now_us = low_us
    for frame in frames:
        clock = pl.max_horizontal(in_period.cum_max().forward_fill(), pl.lit(now_us)).alias("clock_us")
        rides = with_ride_id(frame, file.repeats).with_columns(*origin, clock)
        now_us = rides["clock_us"][-1]
        yield rides


def _ordered(file: TlcFile, folder: Path, by: By, bin_rides: int) -> Iterator[pl.DataFrame]:
    """The file's stored frames, sorted by time; rows of one time stay in file order. Nothing is empty.

    By distribution: rows go to bins of a span of time each, in file order, and bin after bin is sorted by itself.
    """
    if by == "file":
        yield from filter(len, file.stored.frames())
        return
    time = (reported_at_us() if by == "reported" else pl.col("pickup_at_us")).clip(*_accepted(file.period))
    bounds = _bounds(file, time, bin_rides)
    bins = [Spill(folder / f"{uuid4().hex}.arrow") for _ in range(len(bounds) + 1)]
    for frame in file.stored.frames():
        of_bin = bounds.search_sorted(frame.select(time.alias("time"))["time"], side="right")
        parts = frame.with_columns(of_bin.alias("bin")).partition_by(
            "bin", as_dict=True, maintain_order=True, include_key=False
        )
        for (at,), part in parts.items():
            bins[at].add(part)
    for one in bins:
        one.close()
    for one in bins:
        if not one.is_empty:
            yield pl.concat(one.frames()).sort(time, maintain_order=True)
            one.remove()


def _bounds(file: TlcFile, time: pl.Expr, bin_rides: int) -> pl.Series:
    """The times at which bins begin, but for the first."""
    sampled = [f.select(time.alias("time"))["time"].gather_every(SAMPLED_OF) for f in file.stored.frames()]
    times = np.sort(pl.concat(sampled).to_numpy())
    count = min(MOST_BINS, -(-file.ride_count // bin_rides))
    return pl.Series(np.unique([times[len(times) * at // count] for at in range(1, count)]), dtype=pl.Int64)


def _accepted(period: Period) -> tuple[int, int]:
    """The span that may move the clock, end exclusive: the period and a day on either side."""
    return period.start_us - DAY_US, period.end_us + DAY_US
