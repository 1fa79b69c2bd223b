"""What runs have read, kept: the next reads and decodes only what came since.

bronze   records as the topics held them, by offset ranges; it is the topics' stand-in when they have let them go
silver   the same decoded and judged: usable ones, and apart, with the reason, those that are not
gold     what views come to: final rows by day, of views that a run found right

Silver is made of bronze, and anew when the source is declared otherwise. Records that were refused for what was so then
(rule 15) are not settled in it: what could be used today may change by the day, so they are judged by every run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.base.files.history import history_folder
from app.domain.records import Place
from app.domain.source import Source
from app.domain.view import View
from spark_batch.layers.covers import one_of_each
from spark_batch.layers.gold import GoldTable
from spark_batch.layers.layer_table import LayerTable, inside
from spark_batch.source.kafka_range import RECORD_SCHEMA
from spark_batch.source.places import ORIGIN
from spark_batch.source.read_source import USABLE_TODAY, shortened, topic_number
from spark_batch.stored.cut import Span

SILVER_LAYOUT = 1
"""Raised when records come to be decoded or judged otherwise: silver of before is then not read any more."""
IS_USABLE, IS_SETTLED = "is_usable", "is_settled"

Keep = Callable[[DataFrame], None]
ReadInto = Callable[[Sequence[Span], Keep], None]
"""Reads records of spans, each topic-partition once, and has them kept; a second time, otherwise, if that fails."""
Decode = Callable[[DataFrame], DataFrame]
"""Decodes raw records and judges them, as `read_source` does; what it gave before is gone then."""


class History:
    """What runs of one application have kept below `folder`."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self.bronze, self.silver = cache(self._bronze), cache(self._silver)
        """The tables of a source."""

    def gold(self, view: View) -> GoldTable:
        return GoldTable(self._spark, self._folder, view)

    def to_be_read(self, source: Source, spans: Iterable[Span]) -> list[Span]:
        """The spans from where their topics must hold them: behind what bronze holds of each from its start on."""
        gaps = {span: self.bronze(source).missing([span]) for span in spans}
        return [replace(span, start=found[0].start if found else span.end) for span, found in gaps.items()]

    def records(
        self,
        source: Source,
        spans: Sequence[Span],
        columns: Iterable[str],
        refused: Collection[Place],
        read: ReadInto,
        decode: Decode,
    ) -> DataFrame:
        """All records of the spans, as `decode` gives them, with these columns alone. What is not held is read, decoded
        and kept first.

        `refused`: those that were refused for what was so then.
        """
        bronze, silver = self.bronze(source), self.silver(source)
        wanted = [*ORIGIN, "timestamp_ms", "reason", USABLE_TODAY, *columns]
        if all(span.end == span.start for span in spans):
            return decode(self._spark.createDataFrame([], RECORD_SCHEMA)).select(*wanted)
        for some in one_of_each(bronze.missing(spans)):
            read(some, lambda raw, some=some: bronze.append(shortened(raw), some))  # type: ignore[misc]
        if gaps := silver.missing(spans):
            unsettled = self._listed(source, refused)
            decoded = decode(self.raw(source, gaps)).join(unsettled, [*ORIGIN], "left")
            told = {IS_USABLE: F.col("reason").isNull(), IS_SETTLED: F.col("is_listed").isNull()}
            silver.append(decoded.withColumns(told).drop("is_listed", USABLE_TODAY), gaps)
        kept = silver.rows().where(inside(spans, lambda topic: F.col("topic_number") == source.topic(topic).number))
        return self._judged_anew(source, spans, kept, refused, decode).select(*wanted)

    def raw(self, source: Source, spans: Sequence[Span]) -> DataFrame:
        """Records of spans that bronze holds, as `shortened` gives them, with `topic_number`."""
        rows = self.bronze(source).rows().where(inside(spans, lambda topic: F.col("topic") == topic))
        return rows.withColumn("topic_number", topic_number(source))

    def _judged_anew(
        self, source: Source, spans: Sequence[Span], kept: DataFrame, refused: Collection[Place], decode: Decode
    ) -> DataFrame:
        """The kept records, those that are not settled as `decode` gives them today."""
        names = {topic.number: topic.name for topic in source.topics}
        open_then = kept.where(~F.col(IS_SETTLED)).select(*ORIGIN).collect()
        places = {*refused, *(Place(names[number], partition, offset) for number, partition, offset in open_then)}
        settled = kept.drop(IS_USABLE, IS_SETTLED).withColumn(USABLE_TODAY, F.lit(False))
        if not places:
            return settled
        listed = self._listed(source, places)
        anew = decode(self.raw(source, spans).join(listed, [*ORIGIN], "leftsemi"))
        return settled.join(listed, [*ORIGIN], "leftanti").unionByName(anew)

    def _listed(self, source: Source, places: Iterable[Place]) -> DataFrame:
        numbers = {topic.name: topic.number for topic in source.topics}
        rows = [(numbers[place.topic], place.partition, place.offset, True) for place in places]
        schema = "topic_number int, partition int, offset long, is_listed boolean"
        return F.broadcast(self._spark.createDataFrame(rows, schema))

    def _bronze(self, source: Source) -> LayerTable:
        return LayerTable(self._spark, self._folder / "bronze" / source.name)

    def _silver(self, source: Source) -> LayerTable:
        """Of the source as it is declared now."""
        declared = hashlib.sha256(f"{SILVER_LAYOUT} {source!r}".encode()).hexdigest()[:8]
        return LayerTable(self._spark, self._folder / "silver" / f"{source.name}-{declared}", apart=[IS_USABLE])


def history_of(spark: SparkSession, folder: Path | None, application: str) -> History | None:
    """The application's history below `folder`, which this run holds; None without a folder."""
    own = history_folder(folder, application)
    return None if own is None else History(spark, own)
