"""A view in Spark: the third translator, beside `app.domain.oracle.view_fold` and the worker's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Literal, assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.difference import Fate
from app.domain.measures.parts import Part, Take
from app.domain.view import FIRST_WINDOW, View
from spark_batch.folds.mergers import MERGERS
from spark_batch.folds.mix import fingerprint, mixed_halves, packed_origin
from spark_batch.folds.windows import WINDOW_END, WINDOW_START, columns_of_window
from spark_batch.stored.row_frames import cell_columns, key_columns


def judged(view: View, records: DataFrame) -> DataFrame:
    """Records (with `watermark_us`) with the key of their row in this view and their `fate`; where rows merge, of the
    row that each alone would make."""
    kernel = columns_of_window(view)
    key = {"task": F.col("partition"), "window_start_us": kernel.start()}
    keyed = kernel.prepared(records).withColumns(key | _groups(view))
    return keyed.withColumn("fate", _fate(view)).drop(WINDOW_START, WINDOW_END)


def rows(view: View, applied: DataFrame) -> DataFrame:
    """The view's rows over records that were all applied, as `judged` gives them."""
    return aggregated(view, columns_of_window(view).together(applied), key_columns(view))


def aggregated(view: View, records: DataFrame, by: Sequence[str | Column]) -> DataFrame:
    """The view's cells over the records of each value of `by`."""
    upper, lower = mixed_halves(packed_origin())
    prepared = records.withColumns({"mixed_upper": upper, "mixed_lower": lower, "origin": packed_origin()})
    cells = [column for part in view.parts for column in _cells(view, part)]
    named = [cell.alias(name) for cell, name in zip(cells, cell_columns(view), strict=True)]
    return prepared.groupBy(*by).agg(*named)


def _groups(view: View) -> dict[str, Column]:
    """Flags group as 0 and 1, as they are stored."""
    types = ["string" if text else "bigint" for text in view.texts]
    columns = [
        columns_of_window(view).first_window() if g is FIRST_WINDOW else F.col(g.column) for g in view.stored_groups
    ]
    return {f"group_{i}": column.cast(types[i]) for i, column in enumerate(columns)}


def _fate(view: View) -> Column:
    left_out = reduce(or_, (F.col(rule) != 0 for rule in view.leaves_out), F.lit(False))
    last_end = columns_of_window(view).last_end()
    if last_end is None:
        return F.when(left_out, Fate.OUT_OF_SCOPE.value).otherwise(Fate.APPLIED.value)
    closes = last_end + view.grace_us
    placed = F.when(F.col("window_start_us").isNull() | left_out, Fate.OUT_OF_SCOPE.value)
    return placed.when(closes <= F.col("watermark_us"), Fate.LATE.value).otherwise(Fate.APPLIED.value)


def _cells(view: View, part: Part) -> Sequence[Column]:
    """The part as one aggregate; first and last as parts of one struct."""
    if part.take is Take.ONE:
        return [F.count(F.lit(1))]
    if part.take is Take.FINGERPRINT:
        return [fingerprint(F.col("mixed_upper"), F.col("mixed_lower"))]
    assert part.column is not None  # every other part stands over a column
    value = F.col(part.column)
    if part.take is Take.STAMPED:
        stamped = F.when(
            value.isNotNull(),
            F.struct(F.col(view.source.reported_at).alias("at"), F.col("origin"), value.alias("value")),
        )
        best = MERGERS[part.op](stamped)
        return [_or_neutral(part, best[name], i) for i, name in enumerate(("at", "origin", "value"))]
    taken = _taken(part, part.take, value)
    return [_or_neutral(part, MERGERS[part.op](taken), 0)]


def _taken(part: Part, take: Literal[Take.PRESENT, Take.VALUE, Take.BIN], value: Column) -> Column:
    match take:
        case Take.PRESENT:
            return F.when(value.isNotNull(), F.lit(1).cast("bigint"))
        case Take.VALUE:
            return value.cast("bigint")
        case Take.BIN:
            return _inside(part, value)
        case _:
            assert_never(take)


def _inside(part: Part, value: Column) -> Column:
    inside = value.isNotNull()
    if part.low is not None:
        inside = inside & (value >= part.low)
    if part.high is not None:
        inside = inside & (value < part.high)
    return F.when(inside, F.lit(1).cast("bigint"))


def _or_neutral(part: Part, aggregate: Column, at: int) -> Column:
    return F.coalesce(aggregate, F.lit(part.op.neutral[at]).cast("bigint"))
