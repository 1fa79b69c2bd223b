"""Schema ids that records name and that no marker holds: whether the registry answers of them as it did is not known.

A marker has room for so many (`MOST_SCHEMAS`). Rows that differ then may do so for the registry's sake alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.codecs.avro.schema import HEADER_BYTES, MAGIC, framing
from app.domain.marker import MOST_SCHEMAS, Marker
from app.domain.records import Place
from app.domain.source import Source
from spark_batch.source.places import ORIGIN


def full_tasks(markers: Iterable[Marker]) -> dict[int, set[str]]:
    """The ids that markers without room for more hold, by partition."""
    held: dict[int, set[str]] = {}
    for marker in markers:
        if len(marker.schemas) >= MOST_SCHEMAS:
            held.setdefault(marker.partition, set()).update(marker.schemas)
    return held


def not_held(
    stored: DataFrame, source: Source, held: Mapping[int, Collection[str]], refused: Iterable[Place]
) -> list[int]:
    """Of the tasks in `held`, ids that their records name beside those. `stored`: what `read_source` has stored.

    Records that were `refused` for an unknown schema were not read by any.
    """
    spark, numbers = stored.sparkSession, {topic.name: topic.number for topic in source.topics}
    of_tasks = stored.where(F.col("partition").isin(list(held)) & F.col("header").startswith(F.lit(MAGIC)))
    framed = of_tasks.where(F.length("header") == HEADER_BYTES)
    known = [(partition, framing(int(number))) for partition, ids in held.items() for number in ids]
    places = [(numbers[place.topic], place.partition, place.offset) for place in refused]
    told = spark.createDataFrame(known, "partition int, header binary")
    passed = spark.createDataFrame(places, "topic_number int, partition int, offset long")
    left = framed.join(F.broadcast(passed), [*ORIGIN], "left_anti")
    named = left.join(F.broadcast(told), ["partition", "header"], "left_anti").select("header").distinct()
    return sorted(int.from_bytes(row["header"][1:], "big") for row in named.collect())
