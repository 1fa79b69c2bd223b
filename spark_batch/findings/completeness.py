"""What the tables would be if no record had been late, none had come twice, and those refused for what was so then had
been used where they can be today; and the records that make the difference (rules 15, 25, 26).

Of records that are the same the first that was applied counts, else the one that stands first. The records of a row
are known on both sides, so the listed ones lead from one to the other; what is to be shown is that the row is what its
records make: it is folded again, and where any cell is another the row counts as residual.
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
from app.domain.fingerprint import Origin, pack
from app.domain.rows import COUNT_AT, RowKey
from app.domain.source import Source
from app.domain.view import View
from spark_batch.folds.mix import packed_origin
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
    """Of one view: how many `rows` there are or should be, how many of them would be others, by how many records of
    each class, and how many the listed records do not explain (`residual`, must be 0)."""

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
    """The view's rows as the records of its tables make them, held against what they should be."""
    view, kernel = own.view, columns_of_window(own.view)
    candidates = _candidates(own).cache()
    held, should = kernel.together(_held(own, candidates)), kernel.together(candidates.where("survives"))
    made, due = own.corrected.rows, rows(view, should)
    kept = own.kept(made).unionByName(own.kept(due)).select(*key_columns(view)).distinct().cache()
    differing = _beside(view, _differing(view, made, due), kept).cache()
    changes = _beside(view, _changes(view, held, should), differing).cache()
    records = changes.groupBy("why").agg(F.count_distinct("origin").alias("records")).collect()
    counted = {row["why"]: row["records"] for row in records}
    found = Completeness(
        kept.count(),
        differing.count(),
        {why: counted.get(why.value, 0) for why in Incomplete},
        _beside(view, _differing(view, made, rows(view, held)), differing).count(),
        _first(view, differing, changes),
    )
    for frame in (candidates, kept, differing, changes):
        frame.unpersist()
    return found


def _candidates(own: Recount) -> DataFrame:
    """Records in scope with the row that each would be in if none were late; whether the tables hold them, and whether
    they are the one of their kind and id that counts."""
    usable = F.col(USABLE_TODAY) & (F.col("offset") >= F.col("view_start"))
    seen = own.judged.where(F.col("fate").isin([fate.value for fate in Fate]) | usable)
    undated = seen.withColumns({"judged_fate": F.col("fate"), "watermark_us": F.lit(LONG_AGO_US)})
    timely = judged(own.view, undated).where(F.col("fate") == Fate.APPLIED.value)
    known = timely.withColumn("origin", packed_origin()).join(_added(own), "origin", "left")
    is_held = (F.col("judged_fate") == Fate.APPLIED.value) | F.col("is_added").isNotNull()
    order = [F.col("is_held").desc(), F.col("topic_number"), F.col("partition"), F.col("offset")]
    alike = Over.partitionBy(*_identity(own.view.source)).orderBy(*order)
    return known.withColumn("is_held", is_held).withColumn("survives", F.row_number().over(alike) == 1)


def _identity(source: Source) -> list[Column]:
    """By what records are the same; one without an id is like no other."""
    unique = F.concat(F.lit("origin "), F.col("origin").cast("string"))
    by_id = F.coalesce(F.concat(F.lit("id "), F.col(source.id).cast("string")), unique)
    return [by_id, *(F.col(name) for name in source.told_apart_by)]


def _held(own: Recount, candidates: DataFrame) -> DataFrame:
    """Records that the tables hold, with the row that each is in. Of windows that overlap that is another one for a
    record which was late for some of them; no correction adds records there."""
    if not own.view.window.overlap:
        return candidates.where("is_held")
    told = candidates.select("origin", "is_held", "survives")
    return own.applied.withColumn("origin", packed_origin()).join(told, "origin")


def _added(own: Recount) -> DataFrame:
    """Origins of records that corrections have brought in."""
    numbers = {topic.name: topic.number for topic in own.view.source.topics}
    places = {place for one in own.corrections.applied for place in one.correction.adds}
    origins = [(pack(Origin(numbers[p.topic], p.partition, p.offset)), True) for p in sorted(places)]
    return F.broadcast(own.judged.sparkSession.createDataFrame(origins, "origin bigint, is_added boolean"))


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
    columns = [*key_columns(view), "origin", "topic_number", "partition", "offset", USABLE_TODAY, "is_held", "survives"]
    sides = [frame.select(*columns, F.lit(times).alias("times")) for frame, times in ((held, -1), (should, 1))]
    alone = sides[0].unionByName(sides[1]).groupBy(*columns).agg(F.sum("times").alias("times")).where("times <> 0")
    lacking, twice = ~F.col("is_held") & (F.col("times") > 0), ~F.col("survives") & (F.col("times") < 0)
    refused = F.when(F.col(USABLE_TODAY), Incomplete.QUARANTINED.value).otherwise(Incomplete.LATE.value)
    why = F.when(lacking, refused).when(twice, Incomplete.DUPLICATE_INPUT.value)
    return alone.withColumn("why", why.otherwise(Incomplete.MOVED.value))


def _beside(view: View, some: DataFrame, keys: DataFrame) -> DataFrame:
    """Those of which the key is among these."""
    named = keys.select(*(F.col(name).alias(f"of_{name}") for name in key_columns(view)))
    same = reduce(and_, (F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in key_columns(view)))
    return some.join(named, same, "leftsemi")


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
