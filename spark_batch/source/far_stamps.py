"""Records with a Kafka timestamp that Spark's reader cannot hold: they are copied without it, and what lies between.

It makes microseconds of each record's timestamp, whether anybody asks for it or not, and fails for good at one that has
none in 64 bits. Brokers take what is before 1970 as it comes. Reading on one thread is slow, so Spark reads what is
below the first such record of a topic-partition and above the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Message
from pyspark.sql import DataFrame, SparkSession

from app.base.kafka.committed import committed
from spark_batch.source.kafka_range import RECORD_SCHEMA, read_spans
from spark_batch.source.log_reader import LARGEST_FETCH_BYTES
from spark_batch.stored.cut import Span

AT_A_TIMESTAMP = "JavaTimestamp"
"""What Spark's two steps are called that fail at one."""
HELD_MS = range(-1 << 47, 1 << 47)
"""Well within what Spark holds: 4,459 years each way."""
BYTES_AT_ONCE = 16 << 20
ROW_BYTES = 200
"""What a row takes in memory beside its key and value, about."""
_PLACED: list[tuple[str, pa.DataType]] = [("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]
_COPIED = pa.schema([*_PLACED, ("timestamp_ms", pa.int64()), ("key", pa.binary()), ("value", pa.binary())])


def failed_at_one(error: Exception) -> bool:
    """Whether Spark failed at a timestamp; it is asked for the text."""
    return AT_A_TIMESTAMP in str(error)


def read_beside(
    spark: SparkSession,
    java_options: Mapping[str, str],
    client: Mapping[str, Any],
    folder: Path,
    spans: Sequence[Span],
) -> DataFrame:
    """As `read_spans`, but what Spark's reader cannot hold is copied to `folder` by one thread.

    Each topic-partition stands in one span. `client`: librdkafka's options.
    """
    far = list(_far_stamped(client, spans))
    by_place = {span.at: span for span in far}
    around = [(span, by_place.get(span.at, replace(span, start=span.end))) for span in spans]
    below = [replace(span, end=part.start) for span, part in around]
    above = [replace(span, start=part.end) for span, part in around]
    copied = folder / f"{sum(1 for _ in folder.glob('*')) if folder.exists() else 0}.parquet"
    _copy(client, far, copied)
    read = [read_spans(spark, java_options, some) for some in (below, above)]
    return read[0].unionByName(read[1]).unionByName(spark.read.schema(RECORD_SCHEMA).parquet(str(copied)))


def _far_stamped(client: Mapping[str, Any], spans: Sequence[Span]) -> Iterator[Span]:
    """Of each span with such records, from the first to the last."""
    for span in spans:
        far = [message.offset() for message in _records(client, span) if message.timestamp()[1] not in HELD_MS]
        if far:
            yield replace(span, start=far[0], end=far[-1] + 1)


def _copy(client: Mapping[str, Any], spans: Sequence[Span], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(file, _COPIED) as writer:
        for span in spans:
            for rows in _in_parts(_records(client, span)):
                writer.write_table(pa.Table.from_pylist(rows, _COPIED))


def _in_parts(messages: Iterator[Message]) -> Iterator[list[dict[str, Any]]]:
    rows, held = list[dict[str, Any]](), 0
    for message in messages:
        told = (message.topic(), message.partition(), message.offset(), message.timestamp()[1])
        rows.append(dict(zip(_COPIED.names, (*told, message.key(), message.value()), strict=True)))
        held += len(message.value() or b"") + len(message.key() or b"") + ROW_BYTES
        if held >= BYTES_AT_ONCE:
            yield rows
            rows, held = [], 0
    yield rows


def _records(client: Mapping[str, Any], span: Span) -> Iterator[Message]:
    options = {**client, "receive.message.max.bytes": LARGEST_FETCH_BYTES}
    with closing(committed(options, span.topic, span.partition, span.start)) as records:  # type: ignore[type-var]
        yield from takewhile(lambda message: message.offset() < span.end, records)
