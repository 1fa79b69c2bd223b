"""What the tables would be if no record had been late, none had come twice, and those refused for what was so then had
been used where they can be today; and the records that make the difference (rules 15, 25, 26).

Of records with one id the first that was applied counts, else the one that stands first. A row is explained when its
count and fingerprint, with the listed records taken in and out, are those of the row as it should be: nothing is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import reduce
from operator import and_, or_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as Over
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.difference import Fate
from app.domain.fingerprint import LOW_32, Origin, pack
from app.domain.rows import COUNT_AT, FINGERPRINT_AT, RowKey
from app.domain.view import View
from spark_batch.folds.mix import mixed_halves, packed_origin
from spark_batch.folds.recompute import judged, rows
from spark_batch.folds.recount import Recount
from spark_batch.folds.windows import columns_of_window
from spark_batch.source.read_source import USABLE_TODAY
from spark_batch.stored.row_frames import cell_columns, key_columns, key_of

ROWS_SHOWN, RECORDS_SHOWN = 20, 10
MADE, SHOULD = "made", "should"
LONG_AGO_US = -(1 << 61)
"""A watermark at which nothing is late."""


class Incomplete(StrEnum):
    """Why a record is in a row as it should be and not in the table's, or the other way about."""

    LATE = "LATE"
    QUARANTINED = "QUARANTINED"
    DUPLICATE_INPUT = "DUPLICATE_INPUT"
    MOVED = "MOVED"
    """It is in another row, because of one that was late or came twice: rows that merge, windows that overlap."""


@dataclass(frozen=True)
class ListedRecord:
    """A record that is to be taken in (1), or out (-1)."""

    why: Incomplete
    topic: str
    partition: int
    offset: int
    times: int


@dataclass(frozen=True)
class IncompleteRow:
    """A row that would be another; some of the records that make the difference."""

    partition: int
    window_start_us: int | None
    group: tuple[Any, ...]
    count: int
    should_be: int
    records: Sequence[ListedRecord]


@dataclass(frozen=True)
class Completeness:
    """Of one view: how many rows would be others, by how many records of each class, and in how many of them that does
    not explain the difference (`residual`, must be 0)."""

    rows: int
    differing_rows: int
    records: dict[Incomplete, int]
    residual: int
    first: Sequence[IncompleteRow]

    def as_json(self, view: View) -> dict[str, Any]:
        names = [group.name for group in view.stored_groups]
        return asdict(self) | {
            "records": {why.value: count for why, count in self.records.items()},
            "first": [asdict(row) | {"group": dict(zip(names, row.group, strict=True))} for row in self.first],
        }


def completeness(own: Recount) -> Completeness:
    """The view's rows as its tasks made them, held against what they should be."""
    view = own.view
    candidates = _candidates(own)
    should = _together(view, candidates.where("survives"))
    rows_that_should_be = own.kept(rows(view, should))
    differing = _differing(view, own.rows, rows_that_should_be).cache()
    changes = _changes(view, _together(view, candidates.where("held")), should)
    changes = _beside(view, changes, differing).cache()
    counted = {row["why"]: row["count"] for row in changes.groupBy("why").count().collect()}
    return Completeness(
        rows_that_should_be.count(),
        differing.count(),
        {why: counted.get(why.value, 0) for why in Incomplete},
        _unexplained(view, differing, changes),
        _first(view, differing, changes),
    )


def _candidates(own: Recount) -> DataFrame:
    """Records in scope with the row that each would be in if none were late; whether the tables hold them, and whether
    they are the one of their id that counts."""
    usable = F.col(USABLE_TODAY) & (F.col("offset") >= F.col("view_start"))
    seen = own.judged.where(F.col("fate").isin([fate.value for fate in Fate]) | usable)
    undated = seen.withColumns({"was": F.col("fate"), "watermark_us": F.lit(LONG_AGO_US)})
    timely = judged(own.view, undated).where(F.col("fate") == Fate.APPLIED.value)
    held = timely.withColumn("origin", packed_origin()).join(_added(own), "origin", "left")
    is_held = (F.col("was") == Fate.APPLIED.value) | F.col("is_added").isNotNull()
    unique = F.concat(F.lit("origin "), F.col("origin").cast("string"))
    of_id = Over.partitionBy(F.coalesce(F.concat(F.lit("id "), F.col(own.view.source.id).cast("string")), unique))
    order = [F.col("held").desc(), F.col("topic_number"), F.col("partition"), F.col("offset")]
    return held.withColumn("held", is_held).withColumn("survives", F.row_number().over(of_id.orderBy(*order)) == 1)


def _added(own: Recount) -> DataFrame:
    """Origins of records that corrections have brought in."""
    numbers = {topic.name: topic.number for topic in own.view.source.topics}
    places = {place for one in own.corrections.applied for place in one.correction.adds}
    origins = [(pack(Origin(numbers[p.topic], p.partition, p.offset)), True) for p in sorted(places)]
    return F.broadcast(own.judged.sparkSession.createDataFrame(origins, "origin bigint, is_added boolean"))


def _together(view: View, records: DataFrame) -> DataFrame:
    """The records with the key of the row that they make with one another."""
    return columns_of_window(view).together(records)


def _differing(view: View, made: DataFrame, should: DataFrame) -> DataFrame:
    """Keys of rows that are others, with the cells of both sides, null where a side has no such row."""
    sides = made.withColumn("side", F.lit(MADE)).unionByName(should.withColumn("side", F.lit(SHOULD)))
    cells = [
        F.max(F.when(F.col("side") == side, F.col(name))).alias(f"{side}_{name}")
        for side in (MADE, SHOULD)
        for name in cell_columns(view)
    ]
    differs = (~F.col(f"{MADE}_{name}").eqNullSafe(F.col(f"{SHOULD}_{name}")) for name in cell_columns(view))
    return sides.groupBy(*key_columns(view)).agg(*cells).where(reduce(or_, differs))


def _changes(view: View, held: DataFrame, should: DataFrame) -> DataFrame:
    """Records that are in a row on one side alone, and why: to be taken in (`times` 1), or out (-1)."""
    columns = [*key_columns(view), "origin", "topic_number", "partition", "offset", USABLE_TODAY, "held", "survives"]
    sides = [frame.select(*columns, F.lit(times).alias("times")) for frame, times in ((held, -1), (should, 1))]
    alone = sides[0].unionByName(sides[1]).groupBy(*columns).agg(F.sum("times").alias("times")).where("times <> 0")
    lacking, twice = ~F.col("held") & (F.col("times") > 0), ~F.col("survives") & (F.col("times") < 0)
    refused = F.when(F.col(USABLE_TODAY), Incomplete.QUARANTINED.value).otherwise(Incomplete.LATE.value)
    why = F.when(lacking, refused).when(twice, Incomplete.DUPLICATE_INPUT.value)
    return alone.withColumn("why", why.otherwise(Incomplete.MOVED.value))


def _beside(view: View, changes: DataFrame, differing: DataFrame) -> DataFrame:
    """Those in rows that differ: others are of rows that have expired."""
    keys = differing.select(*(F.col(name).alias(f"of_{name}") for name in key_columns(view)))
    return changes.join(keys, _same(view), "leftsemi")


def _same(view: View) -> Column:
    return reduce(and_, (F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in key_columns(view)))


def _unexplained(view: View, differing: DataFrame, changes: DataFrame) -> int:
    """Rows of which the listed records do not make what they should be: count and fingerprint, which are sums."""
    upper, lower = mixed_halves(F.col("origin"))
    summed = changes.groupBy(*(F.col(name).alias(f"of_{name}") for name in key_columns(view))).agg(
        F.sum("times").alias("count"),
        F.sum(upper * F.col("times")).alias("upper"),
        F.sum(lower * F.col("times")).alias("lower"),
    )
    together = differing.join(summed, _same(view), "left")
    made_count, made = (_cell(MADE, at) for at in (COUNT_AT, FINGERPRINT_AT))
    should_count, should = (_cell(SHOULD, at) for at in (COUNT_AT, FINGERPRINT_AT))
    high = F.shiftrightunsigned(made, 32) + F.coalesce(F.col("upper"), F.lit(0))
    low = made.bitwiseAND(F.lit(LOW_32)) + F.coalesce(F.col("lower"), F.lit(0))
    carried = high + F.shiftright(low, 32)
    explained = F.shiftleft(carried, 32).bitwiseOR(low.bitwiseAND(F.lit(LOW_32)))
    count = made_count + F.coalesce(F.col("count"), F.lit(0))
    return together.where((count != should_count) | (explained != should)).count()


def _cell(side: str, at: int) -> Column:
    return F.coalesce(F.col(f"{side}_cell_{at}"), F.lit(0).cast("bigint"))


def _first(view: View, differing: DataFrame, changes: DataFrame) -> list[IncompleteRow]:
    """The first rows in the order of their keys, with some of their records each."""
    shown = differing.orderBy(*key_columns(view)).limit(ROWS_SHOWN).collect()
    if not shown:
        return []
    nth = F.row_number().over(Over.partitionBy(*key_columns(view)).orderBy("origin"))
    some = changes.withColumn("nth", nth).where(F.col("nth") <= RECORDS_SHOWN)
    keys = differing.sparkSession.createDataFrame(shown, differing.schema)
    listed: dict[tuple[int, RowKey], list[ListedRecord]] = defaultdict(list)
    topics = {topic.number: topic.name for topic in view.source.topics}
    for row in _beside(view, some, keys).orderBy("origin").collect():
        place = (topics[row["topic_number"]], row["partition"], row["offset"])
        record = ListedRecord(Incomplete(row["why"]), *place, times=row["times"])
        listed[row["task"], key_of(view, row)].append(record)
    return [
        IncompleteRow(
            row["task"],
            row["window_start_us"],
            key_of(view, row).group,
            row[f"{MADE}_cell_{COUNT_AT}"] or 0,
            row[f"{SHOULD}_cell_{COUNT_AT}"] or 0,
            listed[row["task"], key_of(view, row)],
        )
        for row in shown
    ]
