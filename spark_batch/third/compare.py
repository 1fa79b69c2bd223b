"""A view against its third opinion, at the offsets of a batch that the cut covers.

The two judge lateness otherwise: the view by the watermark of each topic-partition, record by record; Spark's stream by
one of the whole query, that moves between batches. So rows differ, and by listed records. That these are all is folded:
what the records make by the query's own watermarks must be the query's rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.difference import Fate
from app.domain.records import Place
from app.domain.rows import Cells, RowKey
from app.domain.rules.epochs import SkewEpoch
from app.domain.view import View
from spark_batch.errors import NoVerdict
from spark_batch.findings.compare import judged_keys
from spark_batch.findings.third import OneSided, OneSidedRecord, ThirdFound, UnexplainedRow
from spark_batch.folds.recompute import judged, rows
from spark_batch.folds.recount import QUARANTINED, Recount
from spark_batch.folds.scoped import in_scope
from spark_batch.source.places import ORIGIN, TOPIC_PARTITION
from spark_batch.source.read_source import topic_number
from spark_batch.source.watermark import highest_so_far
from spark_batch.stored.cut import Span
from spark_batch.stored.row_frames import cells_of, key_columns, key_of, same_key
from spark_batch.third.place import Subject, ThirdPlace
from spark_batch.third.table import ThirdTable

RECORDS_LISTED = 10_000
ROWS_LISTED = 100
_MINE, _THEIRS = 0, 1


def compare_third(own: Recount, root: Path, application: str) -> ThirdFound | None:
    """None where no query of the view was begun below `root`."""
    view, place = own.view, ThirdPlace.of(root, application, own.view)
    try:
        if place.subject is None:
            return None
        place.require(Subject.of(view, _topic_ids(own)))
    except NoVerdict as error:
        return ThirdFound(why_not=str(error))
    table = ThirdTable(own.judged.sparkSession, place.folder)
    batch = _newest_covered(own, table) if table.has_batches else None
    if batch is None:
        return ThirdFound(why_not=f"{view.name}: its query has kept no batch yet that the tables cover: run it again")
    spans = _read_up_to(table, batch)
    if why := _why_not(own, spans):
        return ThirdFound(why_not=f"{view.name}: {why}")
    return _compared(own, table, batch, spans)


def _topic_ids(own: Recount) -> dict[str, str]:
    return {span.topic: str(span.topic_id) for cut in own.cuts for span in cut.source_spans}


def _newest_covered(own: Recount, table: ThirdTable) -> int | None:
    """The last batch of which, and of all before it, the cut covers every offset; None where it covers not even one."""
    told = [(span.topic, span.partition, span.end) for cut in own.cuts for span in cut.source_spans]
    cut = own.judged.sparkSession.createDataFrame(told, "topic string, partition int, cut_offset long")
    reached = table.batches.join(F.broadcast(cut), ["topic", "partition"], "left")
    beyond = F.col("cut_offset").isNull() | (F.col("next_offset") > F.col("cut_offset"))
    first_beyond = reached.agg(F.min(F.when(beyond, F.col("batch")))).collect()[0][0]
    within = table.batches if first_beyond is None else table.batches.where(F.col("batch") < first_beyond)
    newest: int | None = within.agg(F.max("batch")).collect()[0][0]
    return newest


def _read_up_to(table: ThirdTable, batch: int) -> list[Span]:
    """What the query had read when that batch had been taken."""
    read = table.batches.where(F.col("batch") <= batch).groupBy("topic", "partition")
    spans = read.agg(F.min("start_offset"), F.max("next_offset")).collect()
    return sorted((Span(*row) for row in spans), key=lambda span: span.at)


def _why_not(own: Recount, spans: Sequence[Span]) -> str | None:
    """Why the records of the tables do not tell what the query has made of its own."""
    source, starts = own.view.source, {span.at: span.start for cut in own.cuts for span in cut.source_spans}
    skews = (epoch for cut in own.cuts for position in cut.source_inputs.values() for epoch in position.skews)
    if not all(epoch.judges_as(SkewEpoch.declared(source)) for epoch in skews):
        return f"records of {source.name} were refused by other rules before, of which its query knows nothing"
    before = [f"{span}, tables from {starts[span.at]} on" for span in spans if span.start < starts[span.at]]
    return f"its query has read records that no table covers ({before[0]}): begin it anew" if before else None


def _compared(own: Recount, table: ThirdTable, batch: int, spans: Sequence[Span]) -> ThirdFound:
    view = own.view
    records = _judged_twice(own, table, batch, spans).cache()
    here, there = (in_scope(view, rows(view, records.where(side)), own.scope) for side in ("is_here", "is_there"))
    third = in_scope(view, table.rows_at(view, batch), own.scope).cache()
    differing = _pair(view, here, third)
    unexplained = _pair(view, there, third)
    one_sided = in_scope(view, records.where("is_here != is_there"), own.scope)
    found = ThirdFound(
        batch=batch,
        spans=spans,
        rows=differing.rows,
        third_rows=differing.third_rows,
        differing_rows=differing.differing,
        one_sided=one_sided.count(),
        records=_listed(view, one_sided),
        unexplained_rows=unexplained.differing,
        unexplained=_rows(view, unexplained) if unexplained.differing else [],
    )
    records.unpersist()
    third.unpersist()
    return found


def _judged_twice(own: Recount, table: ThirdTable, batch: int, spans: Sequence[Span]) -> DataFrame:
    """Usable records of the spans, with `is_here` and `is_there`: whether the view has applied them, and the query."""
    view, spark = own.view, own.judged.sparkSession
    numbers = {topic.name: topic.number for topic in view.source.topics}
    bounds = [(numbers[span.topic], span.partition, span.start, span.end) for span in spans]
    schema = "topic_number int, partition int, read_from long, read_until long"
    inside = own.judged.where(F.col("fate") != QUARANTINED).join(
        F.broadcast(spark.createDataFrame(bounds, schema)), [*TOPIC_PARTITION]
    )
    read = inside.where("read_from <= offset and offset < read_until").drop("read_from", "read_until")
    stamp = (F.col("late_below_us") + F.lit(view.grace_us)).alias("stamp_us")
    number = topic_number(view.source).alias("topic_number")
    begun = table.batches.where(F.col("batch") <= batch)
    late = begun.select(number, "partition", F.col("start_offset").alias("offset"), stamp)
    mine = read.withColumn("is_here", F.col("fate") == Fate.APPLIED.value)
    theirs = judged(view, highest_so_far(mine, F.lit(None).cast("bigint"), late))
    return theirs.withColumn("is_there", F.col("fate") == Fate.APPLIED.value)


class _Pair(NamedTuple):
    """Rows of the tables' side and the query's, and how many keys of them differ."""

    both: DataFrame
    keys: DataFrame
    rows: int
    third_rows: int
    differing: int


def _pair(view: View, mine: DataFrame, theirs: DataFrame) -> _Pair:
    both = mine.withColumn("side", F.lit(_MINE)).unionByName(theirs.withColumn("side", F.lit(_THEIRS)))
    keys = judged_keys(view, both, (_MINE, _THEIRS))
    held = (F.coalesce(F.sum(f"held_{side}"), F.lit(0)) for side in (_MINE, _THEIRS))
    return _Pair(both, keys, *keys.agg(*held, F.count_if("differs")).collect()[0])


def _listed(view: View, one_sided: DataFrame) -> list[OneSidedRecord]:
    names = {topic.number: topic.name for topic in view.source.topics}
    first = one_sided.orderBy(*ORIGIN).limit(RECORDS_LISTED)
    told = first.select(*ORIGIN, "is_here", F.col(view.source.id).alias("id"), *key_columns(view)).collect()
    return [
        OneSidedRecord(
            OneSided.HERE if row["is_here"] else OneSided.THERE,
            Place(names[row["topic_number"]], row["partition"], row["offset"]),
            row["id"],
            key_of(view, row),
        )
        for row in told
    ]


def _rows(view: View, pair: _Pair) -> list[UnexplainedRow]:
    first = F.broadcast(
        pair.keys.where("differs").select(*key_columns(view)).orderBy(*key_columns(view)).limit(ROWS_LISTED)
    )
    held: dict[tuple[int, RowKey], dict[int, Cells]] = {}
    for row in pair.both.join(first, same_key(view, pair.both, first), "leftsemi").collect():
        held.setdefault((row["task"], key_of(view, row)), {})[row["side"]] = cells_of(view, row)
    return [
        UnexplainedRow(task, key, sides.get(_THEIRS), sides.get(_MINE))
        for (task, key), sides in sorted(held.items(), key=lambda one: repr(one[0]))
    ]
