"""Three sides of a view's rows, compared key by key; only what differs comes to the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.difference import ComparedRow
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from spark_batch.stored.row_frames import cell_columns, cells_of, group_columns, key_columns, key_of, same_key

SIDES = LIVE, CHANGELOG, RECOMPUTED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many rows each side has, how many keys differ, and the first of those in key order."""

    live_rows: int
    changelog_rows: int
    recomputed_rows: int
    differing_rows: int
    first: list[ComparedRow]


def compare(view: View, live: DataFrame, changelog: DataFrame, recomputed: DataFrame, limit: int) -> Comparison:
    """Row by row, cell by cell, without tolerance; at most `limit` differing rows are brought."""
    sides = ((LIVE, live), (CHANGELOG, changelog), (RECOMPUTED, recomputed))
    together = reduce(DataFrame.unionByName, (rows.withColumn("side", F.lit(side)) for side, rows in sides))
    keys = judged_keys(view, together)
    totals = [F.coalesce(F.sum(_held(side)), F.lit(0)).alias(_held(side)) for side, _ in sides]
    counted = keys.agg(*totals, F.count_if("differs").alias("differing")).collect()[0]
    differing = keys.where("differs").select(*key_columns(view)).orderBy(*_order(view)).limit(limit)
    first = _rows(view, together, differing) if counted["differing"] else []
    live_rows, changelog_rows, recomputed_rows = (counted[_held(side)] for side in SIDES)
    return Comparison(live_rows, changelog_rows, recomputed_rows, counted["differing"], first)


def judged_keys(view: View, together: DataFrame, sides: Sequence[int] = SIDES) -> DataFrame:
    """Every key with how often each `side` holds it, and whether they differ: not all hold it exactly once, or with
    unequal cells. Least and greatest of three are equal only if all are, and both are plain hash aggregates."""
    held = [F.count_if(F.col("side") == side).alias(_held(side)) for side in sides]
    least = [F.min(name).alias(f"least_{name}") for name in cell_columns(view)]
    most = [F.max(name).alias(f"most_{name}") for name in cell_columns(view)]
    grouped = together.groupBy(*key_columns(view)).agg(*held, *least, *most)
    once = [F.col(_held(side)) == 1 for side in sides]
    equal = [F.col(f"least_{name}") == F.col(f"most_{name}") for name in cell_columns(view)]
    return grouped.withColumn("differs", ~reduce(Column.__and__, once + equal))


def _order(view: View) -> list[str]:
    """Which rows are looked into first; those that belong together follow one another."""
    return ["task", *group_columns(view), "window_start_us"] if view.window.merges else key_columns(view)


def _held(side: int) -> str:
    return f"held_{side}"


def _rows(view: View, together: DataFrame, keys: DataFrame) -> list[ComparedRow]:
    wanted = F.broadcast(keys)
    held: dict[tuple[int, RowKey], dict[int, Cells]] = {}
    for row in together.join(wanted, same_key(view, together, wanted), "leftsemi").collect():
        held.setdefault((row["task"], key_of(view, row)), {})[row["side"]] = cells_of(view, row)
    return [
        ComparedRow(task, key, sides.get(LIVE), sides.get(CHANGELOG), sides.get(RECOMPUTED))
        for (task, key), sides in sorted(held.items(), key=lambda item: repr(item[0]))
    ]
