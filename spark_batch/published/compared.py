"""Finals of windows that have left the tables against what the records give: one of each, and no other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.difference import DifferenceKind
from app.domain.records import Place
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from spark_batch.findings.finals import ComparedFinals, FinalDifference
from spark_batch.folds.windows import ROW_END
from spark_batch.published.topics import PublishedFinals
from spark_batch.stored.row_frames import cell_columns, own_group_columns

SHOWN = 100
"""Differences that are told one by one."""
_RIGHT, _CORRECTED, _GONE = "right", "corrected", "gone"


class CorrectedFinals(NamedTuple):
    """Finals whose rows a correction has changed: their `keys`, each once; those of windows that had ended by
    `settled_us` have been published for good."""

    keys: DataFrame
    settled_us: int | None


def compare_finals(
    view: View, due: DataFrame, published: PublishedFinals, corrected: CorrectedFinals, to_us: int
) -> ComparedFinals:
    """`due`: rows as `final_rows` gives them; `published`: finals of the same windows, up to `to_us`."""
    key = ["window_start_us", *own_group_columns(view)]
    meant = due.select(*key, F.struct(ROW_END, F.array(*cell_columns(view)).alias("cells")).alias("due"))
    both = joined(meant, latest(published.finals, key), key, "full_outer")
    marked = joined(both, F.broadcast(corrected.keys.withColumn("is_corrected", F.lit(True))), key, "left")
    judged = marked.withColumn("fate", _fate(published.is_whole, corrected.settled_us)).cache()
    try:
        repeated = F.coalesce(F.sum("repeated"), F.lit(0)).alias("repeated")
        counts = judged.groupBy("fate").agg(F.count(F.lit(1)).alias("finals"), repeated).collect()
        fates: dict[str, int] = {row["fate"]: row["finals"] for row in counts}
        kinds = {kind: fates[kind] for kind in DifferenceKind if kind in fates}
        return ComparedFinals(
            to_us,
            fates.get(_RIGHT, 0) + sum(kinds.values()),
            fates.get(_CORRECTED, 0),
            fates.get(_GONE, 0),
            sum(row["repeated"] for row in counts),
            kinds,
            [_difference(row, key) for row in _first(judged, key)],
        )
    finally:
        judged.unpersist()


def joined(left: DataFrame, right: DataFrame, key: Sequence[str], how: str) -> DataFrame:
    """By the key, in which nulls are equal; it is there once."""
    renamed = right.withColumnsRenamed({name: f"its_{name}" for name in key})
    same = reduce(Column.__and__, (F.col(name).eqNullSafe(F.col(f"its_{name}")) for name in key))
    keys = {name: F.coalesce(name, f"its_{name}") for name in key}
    return left.join(renamed, same, how).withColumns(keys).drop(*(f"its_{name}" for name in key))


def latest(finals: DataFrame, key: Sequence[str]) -> DataFrame:
    """Of each key the last revision: what it says (`told`), where the last of it stands (`place`), and whether it says
    the same wherever it stands (`is_alike`); how often any revision came again (`repeated`)."""
    place, told = F.struct("topic", "partition", "offset"), F.struct("window_end_us", "cells")
    in_time = F.struct("timestamp_ms", place)
    last = F.max_by(F.struct(told.alias("told"), place.alias("place")), in_time).alias("last")
    is_alike = (F.min(told) == F.max(told)).alias("is_alike")
    of_revision = finals.groupBy(*key, "revision").agg(last, is_alike, (F.count(F.lit(1)) - 1).alias("again"))
    newest = F.max_by(F.struct("last.told", "last.place", "is_alike"), "revision").alias("newest")
    return of_revision.groupBy(*key).agg(newest, F.sum("again").alias("repeated")).select(*key, "newest.*", "repeated")


def _fate(is_whole: bool, settled_us: int | None) -> Column:
    due, told = F.col("due"), F.col("told")
    is_settled = F.lit(False)
    if settled_us is not None:
        is_settled = F.coalesce(due[ROW_END], told[ROW_END]) <= settled_us
    fate = F.when(due.eqNullSafe(told) & F.col("is_alike"), _RIGHT)
    fate = fate.when(F.col("is_corrected") & ~is_settled, _CORRECTED)
    fate = fate.when(due.isNull(), DifferenceKind.UNNAMED.value)
    fate = fate.when(told.isNull(), DifferenceKind.LOST.value if is_whole else _GONE)
    return fate.when(~F.col("is_alike"), DifferenceKind.DOUBLED.value).otherwise(DifferenceKind.ALTERED.value)


def _first(judged: DataFrame, key: Sequence[str]) -> list[Row]:
    return judged.where(F.col("fate").isin([*DifferenceKind])).orderBy(*key).limit(SHOWN).collect()


def _difference(row: Row, key: Sequence[str]) -> FinalDifference:
    start_us, *group = (row[name] for name in key)
    place = None if row["place"] is None else Place(*row["place"])
    kind = DifferenceKind(row["fate"])
    return FinalDifference(kind, RowKey(start_us, tuple(group)), place, _cells(row["told"]), _cells(row["due"]))


def _cells(told: Any) -> Cells | None:
    return None if told is None else tuple(told["cells"] or ())
