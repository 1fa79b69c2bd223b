"""Windows of views as Spark's expressions: where each begins, and when the last that a record is in ends."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.view import AllTime, Session, Tumbling, View
from app.domain.windows import Calendar, Hopping

WINDOW_START, WINDOW_END = "calendar_start_us", "calendar_end_us"
"""Columns that `with_calendar` adds."""
_BUCKET_US = 86_400_000_000
_FARTHEST_US = 1 << 61
"""A watermark of no record lies below it: taken so far back, nothing overflows."""


def with_calendar(view: View, records: DataFrame) -> DataFrame:
    """The records with the calendar window that each is in, null where it has no instant.

    Boundaries come from the domain's table (rule 10), and meet records by the day (UTC) that both are in.
    """
    assert isinstance(view.window, Calendar)
    instants = np.frombuffer(view.boundaries.instants, np.int64)
    starts, ends = instants[:-1], instants[1:]
    first, last = starts // _BUCKET_US, (ends - 1) // _BUCKET_US
    of = np.repeat(np.arange(len(starts)), last - first + 1)
    nth = np.arange(len(of)) - np.searchsorted(of, of)
    columns = {WINDOW_START: starts[of], WINDOW_END: ends[of], "calendar_bucket": (first[of] + nth) * _BUCKET_US}
    table = pa.table(columns)
    known = F.broadcast(records.sparkSession.createDataFrame(table))
    instant = F.col(view.window.column)
    inside = (
        (_floor(instant, _BUCKET_US, 0) == F.col("calendar_bucket"))
        & (F.col(WINDOW_START) <= instant)
        & (instant < F.col(WINDOW_END))
    )
    return records.join(known, inside, "left").drop("calendar_bucket")


def window_start(view: View) -> Column:
    """Start of the window that is stored; null where there is none."""
    match view.window:
        case Tumbling(column=column, size_us=size_us, offset_us=offset_us):
            return _floor(F.col(column), size_us, offset_us)
        case Hopping(column=column, size_us=size_us, step_us=step_us, offset_us=offset_us):
            begun, cut_us = _floor(F.col(column), step_us, offset_us), size_us % step_us
            return F.when(F.col(column) >= begun + cut_us, begun + cut_us).otherwise(begun)
        case Calendar():
            return F.col(WINDOW_START)
        case AllTime() | Session():
            return F.lit(None).cast("bigint")


def last_end(view: View) -> Column:
    """Exclusive end of the last window that holds what is stored under `window_start_us`."""
    start = F.col("window_start_us")
    match view.window:
        case Tumbling(size_us=size_us):
            return start + size_us
        case Hopping(size_us=size_us, step_us=step_us, offset_us=offset_us):
            return _floor(start, step_us, offset_us) + size_us
        case Calendar():
            return F.col(WINDOW_END)
        case AllTime() | Session():
            raise ValueError(f"{view.name}: a window's start does not tell when it ends")


def first_window(view: View) -> Column:
    """Of a hopping view the first window that holds the record and has not closed."""
    window = view.window
    assert isinstance(window, Hopping)
    watermark = F.greatest(F.col("watermark_us"), F.lit(-_FARTHEST_US))
    latest = F.greatest(F.col(window.column), watermark - view.grace_us)
    first = _floor(latest - window.size_us, window.step_us, window.offset_us) + window.step_us
    return F.when(F.col(window.column).isNotNull(), first)


def _floor(instant: Column, step_us: int, offset_us: int) -> Column:
    return instant - F.pmod(instant - offset_us, F.lit(step_us))
