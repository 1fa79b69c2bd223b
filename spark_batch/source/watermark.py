"""The watermark of every record: the highest `reported_at` of its topic-partition up to and including it (rule 6).

Worked out in two steps, so that no single task must sort a whole partition: highest value per chunk of offsets,
carried forward on the driver, then a running maximum inside each chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.advance import Advance
from app.domain.event_time import NO_WATERMARK
from app.domain.source import Source
from spark_batch.source.places import TOPIC_PARTITION

CHUNK_OFFSETS = 1 << 16


def with_watermark(records: DataFrame, source: Source, advances: Sequence[Advance]) -> DataFrame:
    """`records` with `watermark_us`. An unusable one (with a `reason`) raises nothing; an advance holds for its
    own offset and all above."""
    stamp = F.when(F.col("reason").isNull(), F.col(source.reported_at))
    return highest_so_far(records, stamp, _as_rows(records.sparkSession, source, advances) if advances else None)


def highest_so_far(records: DataFrame, stamp: Column, raised: DataFrame | None = None) -> DataFrame:
    """`records` with `watermark_us`: of their topic-partition the highest `stamp` up to and including each.

    `raised`: `stamp_us` that hold for the record at an origin, and all above.
    """
    chunked = records.withColumns({"chunk": _chunk(), "is_record": F.lit(True), "stamp_us": stamp})
    if raised is not None:
        of_none = raised.withColumns({"chunk": _chunk(), "is_record": F.lit(False)})
        chunked = chunked.unionByName(of_none, allowMissingColumns=True)
    carried = F.broadcast(_carried(chunked))
    so_far = Window.partitionBy(*TOPIC_PARTITION, "chunk").orderBy("offset").rangeBetween(Window.unboundedPreceding, 0)
    joined = chunked.withColumn("highest_us", F.max("stamp_us").over(so_far)).join(carried, [*TOPIC_PARTITION, "chunk"])
    known = joined.withColumn("watermark_us", F.greatest("highest_us", "carried_us"))
    return known.where("is_record").drop("chunk", "is_record", "stamp_us", "highest_us", "carried_us")


def _chunk() -> Column:
    return F.expr(f"offset div {CHUNK_OFFSETS}")


def _as_rows(spark: SparkSession, source: Source, advances: Sequence[Advance]) -> DataFrame:
    numbers = {topic.name: topic.number for topic in source.topics}
    told = [(numbers[a.topic], a.partition, a.at_offset, a.watermark_us) for a in advances]
    return spark.createDataFrame(told, "topic_number int, partition int, offset long, stamp_us long")


def _carried(chunked: DataFrame) -> DataFrame:
    """Per chunk, the highest value of all chunks before it; collected, as there are few."""
    highest = chunked.groupBy(*TOPIC_PARTITION, "chunk").agg(F.max("stamp_us").alias("highest")).collect()
    carried: list[tuple[int, int, int, int]] = []
    at, so_far = None, NO_WATERMARK
    for number, partition, chunk, top in sorted(map(tuple, highest), key=itemgetter(0, 1, 2)):
        if at != (number, partition):
            at, so_far = (number, partition), NO_WATERMARK
        carried.append((number, partition, chunk, so_far))
        so_far = so_far if top is None else max(so_far, top)
    schema = "topic_number int, partition int, chunk long, carried_us long"
    return chunked.sparkSession.createDataFrame(carried, schema)
