"""What a join or an alert has written against what it must have: each result once, with its values, and no other.

A topic-partition has one writer, and what it wrote up to the cut comes first there. So all that stands before the last
result that is due belongs to the cut; what comes behind may have been written since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.difference import DifferenceKind
from app.domain.fingerprint import MAX_OFFSET
from app.domain.pairs.pairing import Pairing
from app.domain.records import Value
from spark_batch.findings.results import ComparedResults, ResultDifference

SHOWN = 100
"""Differences that are told one by one."""
_GONE, _LATER = "gone", "later"
_NOBODY = -1
_FIRST, _SECOND = "first_key", "second_key"
_KEYS = ("task", _FIRST, _SECOND)


class TaskBounds(NamedTuple):
    """Of a task: the first offset that counts of each side's topic, and where the topic of results begins now."""

    first_offset: int
    second_offset: int
    log_start: int


def compare_results(
    pairing: Pairing, due: DataFrame, sent: DataFrame, bounds: Mapping[int, TaskBounds]
) -> ComparedResults:
    """`due` and `sent` have `task` and the columns of the pairing's source, `sent` an `offset` beside them."""
    names = [column.name for column in pairing.source.columns]
    found = _keyed(pairing, sent).join(F.broadcast(_frame(sent, bounds)), "task")
    is_former = _is_below(_FIRST, "first_offset") | _is_below(_SECOND, "second_offset")
    in_order = Window.partitionBy(*_KEYS).orderBy("offset")
    own = found.where(~is_former).withColumn("nth", F.row_number().over(in_order))
    told = own.select(*_KEYS, "nth", "offset", F.struct(*names).alias("sent"))
    meant = _keyed(pairing, due).select(*_KEYS, F.struct(*names).alias("due"))
    both = meant.join(told, [*_KEYS], "full_outer")
    both = both.join(F.broadcast(_frame(sent, bounds).select("task", "log_start")), "task").cache()
    try:
        judged = _with_kind(both)
        counts: dict[str | None, int] = dict(judged.groupBy("kind").count().collect())
        return ComparedResults(
            due.count(),
            found.where(is_former).count(),
            counts.pop(_LATER, 0),
            counts.pop(_GONE, 0),
            {DifferenceKind(kind): counts[kind] for kind in sorted(filter(None, counts))},
            [_difference(row) for row in _first(judged)],
        )
    finally:
        both.unpersist()


def _keyed(pairing: Pairing, records: DataFrame) -> DataFrame:
    """With both origins as a key that meets itself."""
    first, second = pairing.origins
    nobody = F.lit(_NOBODY).cast("bigint")
    return records.withColumns({_FIRST: F.coalesce(first, nobody), _SECOND: F.coalesce(second, nobody)})


def _frame(like: DataFrame, bounds: Mapping[int, TaskBounds]) -> DataFrame:
    told = [(task, *bound) for task, bound in sorted(bounds.items())]
    return like.sparkSession.createDataFrame(told, "task int, first_offset long, second_offset long, log_start long")


def _is_below(key: str, offset: str) -> Column:
    return (F.col(key) != _NOBODY) & (F.col(key).bitwiseAND(F.lit(MAX_OFFSET)) < F.col(offset))


def _with_kind(both: DataFrame) -> DataFrame:
    """With what is wrong; null where nothing is."""
    is_due, is_there = F.col("due").isNotNull(), F.col("sent").isNotNull()
    last = both.where(is_due & (F.col("nth") == 1)).groupBy("task").agg(F.max("offset").alias("last_offset"))
    known = both.join(F.broadcast(last), "task", "left")
    missing = F.when(F.col("log_start") > 0, _GONE).otherwise(DifferenceKind.LOST.value)
    more = F.when(F.col("offset") < F.col("last_offset"), DifferenceKind.UNNAMED.value).otherwise(_LATER)
    kind = F.when(~is_there, missing).when(~is_due, more).when(F.col("nth") > 1, DifferenceKind.DOUBLED.value)
    return known.withColumn("kind", kind.when(F.col("due") != F.col("sent"), DifferenceKind.ALTERED.value))


def _first(judged: DataFrame) -> list[Row]:
    differing = judged.where(F.col("kind").isNotNull() & ~F.col("kind").isin(_GONE, _LATER))
    return differing.orderBy(*_KEYS, "nth").limit(SHOWN).collect()


def _difference(row: Row) -> ResultDifference:
    origins = tuple(None if row[key] == _NOBODY else row[key] for key in (_FIRST, _SECOND))
    return ResultDifference(
        DifferenceKind(row["kind"]),
        row["task"],
        (origins[0], origins[1]),
        row["offset"],
        _values(row["sent"]),
        _values(row["due"]),
    )


def _values(told: Any) -> Mapping[str, Value] | None:
    return None if told is None else told.asDict()
