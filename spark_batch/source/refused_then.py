"""Records that their task refused for what may be different now (rule 15): they named a schema which the registry did
not have, or decoding failed at them as nobody had foreseen.

That was a fact then, and is recorded beside the record: it is not judged anew. What could be used today is told of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.base.kafka.committed import committed
from app.codecs.batches import origin_headers
from app.domain.records import Place, Reason
from app.domain.source import Source
from spark_batch.source.places import ORIGIN
from spark_batch.source.read_source import USABLE_TODAY
from spark_batch.stored.cut import Span

_LISTED_SCHEMA = "topic_number int, partition int, offset long, recorded string"


def read_refused_then(
    client: Mapping[str, Any], topic: str, partitions: int, spans: Sequence[Span]
) -> dict[Place, str]:
    """Reasons of such records within the spans, as the quarantine `topic` tells; `client`: librdkafka's options."""
    inside = {span.at: range(span.start, span.end) for span in spans}
    told = (
        origin_headers.refused_then(message.headers() or [])
        for partition in range(partitions)
        for message in committed(client, topic, partition)
    )
    refused = dict(one for one in told if one is not None)
    return {at: why for at, why in refused.items() if at.offset in inside.get((at.topic, at.partition), ())}  # type: ignore[call-overload]


def with_refused_then(records: DataFrame, source: Source, reasons: Mapping[Place, str]) -> tuple[DataFrame, int]:
    """`records` with the reasons recorded of some, by place, and how many of those could be used today, which say so.

    A record whose bytes name no schema at all keeps the reason that it has.
    """
    if not reasons:
        return records, 0
    numbers = {topic.name: topic.number for topic in source.topics}
    rows = [(numbers[place.topic], place.partition, place.offset, why) for place, why in reasons.items()]
    listed = records.sparkSession.createDataFrame(rows, _LISTED_SCHEMA)
    joined = records.join(F.broadcast(listed), [*ORIGIN], "left")
    nameless = F.coalesce(F.col("reason").isin(Reason.NULL_VALUE, Reason.TOO_SHORT, Reason.BAD_MAGIC), F.lit(False))
    refused = F.col("recorded").isNotNull() & ~nameless
    usable = refused & F.col("reason").isNull()
    reason = F.when(refused, F.col("recorded")).otherwise(F.col("reason"))
    told = joined.withColumns({USABLE_TODAY: usable, "reason": reason}).select(*records.columns)
    return told, told.where(USABLE_TODAY).count()
