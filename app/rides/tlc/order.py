"""The order in which the rides of TLC files are sent again, and the clock that they are sent by (rule 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from app.rides.frames import reported_at_us
from app.rides.tlc.identity import Period
from app.rides.tlc.read import TlcFile

By = Literal["reported", "pickup", "file"]

DAY_US = 86_400_000_000


def replay_order(files: Sequence[TlcFile], by: By = "reported") -> pl.DataFrame:
    """All rides of `files` in sending order; `row`, `service`, `file` and `clock_ms` beside the ride columns.

    `clock_ms`, the Kafka timestamp, never falls: per file the highest `reported_at` so far within the file's
    months and a day on either side. A ride reported outside keeps its own times and is sent with the clock's
    present value; `reported` and `pickup` put such rides at the file's beginning or end.
    Each file keeps its own order (`file` leaves it as published); several are merged by their clocks, an
    earlier one of `files` first where clocks are equal.
    """
    ordered = [_with_clock(file, by) for file in files]
    if not ordered:
        raise ValueError("no files to put in order")
    merged = pl.concat(ordered)
    if len(ordered) > 1:
        merged = merged.sort("clock_us", maintain_order=True)
    return merged.with_columns((pl.col("clock_us") // 1_000).alias("clock_ms")).drop("clock_us")


def _with_clock(file: TlcFile, by: By) -> pl.DataFrame:
    low_us, high_us = _accepted(file.period)
    reported = reported_at_us()
    in_period = pl.when(reported.is_between(low_us, high_us, closed="left")).then(reported)
    clock = in_period.cum_max().forward_fill().fill_null(low_us).alias("clock_us")
    origin = (pl.lit(file.service).alias("service"), pl.lit(str(file.path)).alias("file"))
    rides = file.rides
    if by != "file":
        time = reported if by == "reported" else pl.col("pickup_at_us")
        rides = rides.sort(time.clip(low_us, high_us), maintain_order=True)
    return rides.with_columns(*origin, clock)


def _accepted(period: Period) -> tuple[int, int]:
    """The span that may move the clock, end exclusive: the period and a day on either side."""
    return period.start_us - DAY_US, period.end_us + DAY_US
