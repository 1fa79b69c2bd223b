"""Windows of views as Spark's expressions, a kernel for each kind: the contract, and which kind has which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as Over
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.view import View
from app.domain.windows.all_time import AllTime
from app.domain.windows.calendar import Calendar
from app.domain.windows.contract import Window
from app.domain.windows.hopping import Hopping
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from spark_batch.folds.calendar_runs import BUCKET_US, runs_of
from spark_batch.stored.row_frames import cell_columns, group_columns

ROW_END = "window_end_us"
"""Column: the exclusive end of a row's window."""
WINDOW_START, WINDOW_END = "calendar_start_us", "calendar_end_us"
"""Columns of a calendar's records: the window that each is in."""
PANE = "pane"
"""Column: the window that a stream's record is in, as Spark has it."""
_FARTHEST_US = 1 << 61
"""A watermark of no record lies below it: taken so far back, nothing overflows."""

WindowKind = TypeVar("WindowKind", bound=Window)


class WindowColumns(Generic[WindowKind]):
    """A view's windows over records. Here those of all time: there is none to be told."""

    streams = False
    """Whether Spark's stream can close such windows."""

    def __init__(self, view: View, window: WindowKind) -> None:
        self.view, self.window = view, window

    def prepared(self, records: DataFrame) -> DataFrame:
        """The records with what `start` and `last_end` read beside their columns."""
        return records

    def start(self) -> Column:
        """Start of the window that is stored; null where there is none. Where rows merge, of the row that a record
        alone would make."""
        return F.lit(None).cast("bigint")

    def together(self, applied: DataFrame) -> DataFrame:
        """Applied records (with their key, `start` in it) with the start of the row that they make with the others."""
        return applied

    def last_end(self) -> Column | None:
        """Exclusive end of the last window that holds what is stored under `window_start_us`; None if none ends. Where
        rows merge, the instant itself: by that alone a record is late (docs/decisions/0010)."""
        return None

    def has_ended(self, to_us: int) -> Column:
        """Whether rows have ended by then. ValueError where none ends."""
        return F.col("window_start_us") < self.window.ended_below(to_us)

    def has_begun(self, to_us: int) -> Column:
        """Whether a window that rows are in begins before it. Null where rows have no start."""
        return F.col("window_start_us") < to_us

    def by_window(self, rows: DataFrame) -> DataFrame:
        """Stored rows as rows of windows, by their own start: each under every window that counts it."""
        return rows

    def as_one(self, rows: DataFrame) -> DataFrame:
        """Rows of windows of several tasks, those that are of one window under one start."""
        return rows

    def with_ends(self, rows: DataFrame) -> DataFrame:
        """Rows of windows with the exclusive `window_end_us` of each. ValueError where none ends."""
        raise ValueError(f"{self.view.name}: a row of all time does not end")

    def first_window(self) -> Column:
        """Of windows that overlap the first that holds the record and has not closed."""
        raise ValueError(f"{self.view.name}: what is stored is in one window alone")

    def in_stream(self, records: DataFrame) -> DataFrame:
        """A stream's records with a watermark by the window's instant, and the window that each is in as PANE.
        ValueError unless the kind `streams`."""
        raise ValueError(f"{self.view.name}: Spark's stream does not close such windows")


class TumblingColumns(WindowColumns[Tumbling]):
    streams = True

    def start(self) -> Column:
        return _floor(F.col(self.window.column), *self.window.panes)

    def last_end(self) -> Column:
        return F.col("window_start_us") + self.window.size_us

    def with_ends(self, rows: DataFrame) -> DataFrame:
        return rows.withColumn(ROW_END, self.last_end())

    def in_stream(self, records: DataFrame) -> DataFrame:
        stamped = records.withColumn("instant", F.timestamp_micros(self.window.column))
        size, offset = f"{self.window.size_seconds} seconds", f"{self.window.offset_seconds} seconds"
        known = stamped.withWatermark("instant", f"{self.view.grace_seconds} seconds")
        return known.withColumn(PANE, F.window("instant", size, startTime=offset))


class HoppingColumns(WindowColumns[Hopping]):
    def start(self) -> Column:
        size_us, step_us, offset_us = self.window.overlap
        instant, cut_us = F.col(self.window.column), size_us % step_us
        begun = _floor(instant, step_us, offset_us)
        return F.when(instant >= begun + cut_us, begun + cut_us).otherwise(begun)

    def last_end(self) -> Column:
        size_us, step_us, offset_us = self.window.overlap
        return _floor(F.col("window_start_us"), step_us, offset_us) + size_us

    def has_begun(self, to_us: int) -> Column:
        return F.col("group_0") < to_us

    def by_window(self, rows: DataFrame) -> DataFrame:
        _, step_us, offset_us = self.window.overlap
        last = _floor(F.col("window_start_us"), step_us, offset_us)
        counted = rows.where(F.col("group_0") <= last)
        return counted.withColumn("window_start_us", F.explode(F.sequence("group_0", last, F.lit(step_us))))

    def with_ends(self, rows: DataFrame) -> DataFrame:
        return rows.withColumn(ROW_END, F.col("window_start_us") + self.window.size_us)

    def first_window(self) -> Column:
        size_us, step_us, offset_us = self.window.overlap
        instant = F.col(self.window.column)
        watermark = F.greatest(F.col("watermark_us"), F.lit(-_FARTHEST_US))
        latest = F.greatest(instant, watermark - self.view.grace_us)
        return F.when(instant.isNotNull(), _floor(latest - size_us, step_us, offset_us) + step_us)


class CalendarColumns(WindowColumns[Calendar]):
    def prepared(self, records: DataFrame) -> DataFrame:
        """The records with the window that each is in, null where it has no instant."""
        return self._placed(records, self.window.column)

    def start(self) -> Column:
        return F.col(WINDOW_START)

    def last_end(self) -> Column:
        return F.col(WINDOW_END)

    def with_ends(self, rows: DataFrame) -> DataFrame:
        placed = self._placed(rows, "window_start_us").where(F.col(WINDOW_START) == F.col("window_start_us"))
        return placed.withColumnRenamed(WINDOW_END, ROW_END).drop(WINDOW_START)

    def _placed(self, rows: DataFrame, column: str) -> DataFrame:
        """With the window that holds the instant in a column; null where there is none.

        Boundaries are the domain's (rule 10). Spark gets the runs of windows of one length that they are, some hundreds
        in a century instead of a million hours, and counts within a run.
        """
        known = F.broadcast(rows.sparkSession.createDataFrame(runs_of(self.window.boundaries)))
        instant, begun, length = F.col(column), F.col("run_start_us"), F.col("run_length_us")
        inside = (
            (_floor(instant, BUCKET_US, 0) == F.col("run_bucket"))
            & (begun <= instant)
            & (instant < F.col("run_end_us"))
        )
        start = instant - F.pmod(instant - begun, length)
        placed = rows.join(known, inside, "left").withColumns({WINDOW_START: start, WINDOW_END: start + length})
        return placed.drop(*known.columns)


class SessionColumns(WindowColumns[Session]):
    def start(self) -> Column:
        return F.col(self.window.column)

    def together(self, applied: DataFrame) -> DataFrame:
        instant = F.col(self.window.column)
        of_group = Over.partitionBy("task", *group_columns(self.view)).orderBy(instant)
        before = F.lag(instant).over(of_group)
        begins = F.when(before.isNull() | (instant - before > self.window.gap_us), instant)
        begun = F.last(begins, ignorenulls=True).over(of_group.rowsBetween(Over.unboundedPreceding, Over.currentRow))
        return applied.withColumn("window_start_us", begun)

    def as_one(self, rows: DataFrame) -> DataFrame:
        start = F.col("window_start_us")
        of_group = Over.partitionBy(*group_columns(self.view)).orderBy(start, "task")
        before = F.max(self._last()).over(of_group.rowsBetween(Over.unboundedPreceding, -1))
        begins = F.when(before.isNull() | (start - before > self.window.gap_us), start)
        begun = F.last(begins, ignorenulls=True).over(of_group.rowsBetween(Over.unboundedPreceding, Over.currentRow))
        return rows.withColumn("window_start_us", begun)

    def with_ends(self, rows: DataFrame) -> DataFrame:
        return rows.withColumn(ROW_END, self._ended())

    def last_end(self) -> Column:
        return F.col("window_start_us")

    def has_ended(self, to_us: int) -> Column:
        return self._ended() <= to_us

    def _ended(self) -> Column:
        return self._last() + self.window.gap_us

    def _last(self) -> Column:
        return F.col(cell_columns(self.view)[self.view.last_at])


KERNELS: Mapping[type[Window], type[WindowColumns[Any]]] = {
    Tumbling: TumblingColumns,
    Hopping: HoppingColumns,
    Calendar: CalendarColumns,
    Session: SessionColumns,
    AllTime: WindowColumns,
}


def columns_of_window(view: View) -> WindowColumns[Any]:
    """What Spark does for the view's kind of window."""
    return KERNELS[type(view.window)](view, view.window)


def _floor(instant: Column, step_us: int, offset_us: int) -> Column:
    return instant - F.pmod(instant - offset_us, F.lit(step_us))
