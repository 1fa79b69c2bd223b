"""Three sides of a view's rows, compared key by key; only what differs comes to the driver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.difference import Row
from app.domain.fold import Cells, RowKey
from app.domain.view import View
from spark_batch.recompute import cell_columns, key_columns

LIVE, CHANGELOG, RECOMPUTED = 1, 2, 4
"""Marks of the sides, whose sum tells which of them hold a key."""
ALL_THREE = LIVE + CHANGELOG + RECOMPUTED


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many rows each side has, how many keys differ, and the first of those in key order."""

    live_rows: int
    changelog_rows: int
    recomputed_rows: int
    differing_rows: int
    first: list[Row]


def compare(
    view: View, live: DataFrame, changelog: DataFrame, recomputed: DataFrame, limit: int
) -> Comparison:
    """Row by row, cell by cell, without tolerance; at most `limit` differing rows are brought."""
    sides = ((LIVE, live), (CHANGELOG, changelog), (RECOMPUTED, recomputed))
    together = reduce(
        DataFrame.unionByName, (side.withColumn("side", F.lit(mark)) for mark, side in sides)
    ).cache()
    try:
        counted = {row["side"]: row["count"] for row in together.groupBy("side").count().collect()}
        differing = _differing_keys(view, together).cache()
        count = differing.count()
        first = differing.orderBy(*key_columns(view)).limit(limit)
        rows = _rows(view, together, first) if count else []
        differing.unpersist()
    finally:
        together.unpersist()
    return Comparison(counted.get(LIVE, 0), counted.get(CHANGELOG, 0), counted.get(RECOMPUTED, 0), count, rows)


def same_key(view: View, left: DataFrame, right: DataFrame) -> Column:
    """Join condition over a row's key; nulls are equal."""
    return reduce(Column.__and__, (left[name].eqNullSafe(right[name]) for name in key_columns(view)))


def cells_of(view: View, row: Any) -> Cells:
    """The cells of a collected row."""
    return tuple(row[name] for name in cell_columns(view))


def key_of(view: View, row: Any) -> RowKey:
    """The key of a collected row."""
    return RowKey(row["window_start_us"], tuple(row[name] for name in key_columns(view)[2:]))


def _differing_keys(view: View, together: DataFrame) -> DataFrame:
    """Keys that not all sides hold exactly once, or with unequal cells. Least and greatest of three are equal
    only if all are, and both are plain hash aggregates."""
    least = [F.min(name).alias(f"least_{name}") for name in cell_columns(view)]
    most = [F.max(name).alias(f"most_{name}") for name in cell_columns(view)]
    once = F.count(F.lit(1)).alias("held"), F.sum("side").alias("sides")
    grouped = together.groupBy(*key_columns(view)).agg(*once, *least, *most)
    equal = [F.col(f"least_{name}") == F.col(f"most_{name}") for name in cell_columns(view)]
    right = reduce(Column.__and__, equal, (F.col("held") == 3) & (F.col("sides") == ALL_THREE))
    return grouped.where(~right).select(*key_columns(view))


def _rows(view: View, together: DataFrame, keys: DataFrame) -> list[Row]:
    wanted = F.broadcast(keys)
    held: dict[tuple[int, RowKey], dict[int, Cells]] = {}
    for row in together.join(wanted, same_key(view, together, wanted), "leftsemi").collect():
        held.setdefault((row["task"], key_of(view, row)), {})[row["side"]] = cells_of(view, row)
    return [
        Row(task, key, sides.get(LIVE), sides.get(CHANGELOG), sides.get(RECOMPUTED))
        for (task, key), sides in sorted(held.items(), key=lambda item: repr(item[0]))
    ]
