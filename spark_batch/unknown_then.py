"""Records that named a schema which the registry did not have when their task judged them (rule 15).

That was a fact then, and is recorded beside the record: it is not judged anew. What could be used today is told of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.base.committed import committed
from app.codecs.origin_headers import place_of_unknown_schema
from app.domain.correction import Place
from app.domain.records import Reason
from app.domain.source import Source
from spark_batch.cut import Span

_ORIGIN = ("topic_number", "partition", "offset")
_ORIGIN_SCHEMA = "topic_number int, partition int, offset long"


def read_unknown_then(client: Mapping[str, Any], topic: str, partitions: int, spans: Sequence[Span]) -> list[Place]:
    """Where such records stand within the spans, as the quarantine `topic` tells; `client`: librdkafka's options."""
    inside = {span.at: range(span.start, span.end) for span in spans}
    told = (
        place_of_unknown_schema(message.headers() or [])
        for partition in range(partitions)
        for message in committed(client, topic, partition)
    )
    return sorted({p for p in told if p is not None and p.offset in inside.get((p.topic, p.partition), ())})  # type: ignore[call-overload]


def with_unknown_then(records: DataFrame, source: Source, places: Sequence[Place]) -> tuple[DataFrame, int]:
    """`records` with the reason of those at `places`, and how many of them could be used today.

    A record whose bytes name no schema at all keeps the reason that it has.
    """
    if not places:
        return records, 0
    numbers = {topic.name: topic.number for topic in source.topics}
    origins = [(numbers[place.topic], place.partition, place.offset) for place in places]
    listed = records.sparkSession.createDataFrame(origins, _ORIGIN_SCHEMA)
    joined = records.join(F.broadcast(listed.withColumn("listed", F.lit(True))), [*_ORIGIN], "left")
    nameless = F.coalesce(F.col("reason").isin(Reason.NULL_VALUE, Reason.TOO_SHORT, Reason.BAD_MAGIC), F.lit(False))
    unknown = F.col("listed") & ~nameless
    usable = joined.where(unknown & F.col("reason").isNull()).count()
    reason = F.when(unknown, Reason.UNKNOWN_SCHEMA.value).otherwise(F.col("reason"))
    return joined.withColumn("reason", reason).select(*records.columns), usable
