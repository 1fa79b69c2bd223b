"""Exact offset ranges of Kafka topics: checked on the driver first, then read by Spark.

Spark by itself waits two minutes for an offset beyond the log, and reads aborted records unless told not to.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from spark_batch.cut import Span
from spark_batch.errors import Inconclusive, Invalid

REQUEST_TIMEOUT_SECONDS = 30
POLL_TIMEOUT_MS = 30_000
_EARLIEST = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]
RECORDS_PER_TASK = 1_000_000
"""Ranges are split at this size, so that one large partition keeps all cores busy."""


def check_spans(admin: AdminClient, spans: Sequence[Span]) -> None:
    """Invalid, naming every span that the cluster cannot give: topic gone or made anew, log cut off or too short.

    The log's end is the last *stable* offset: what a read_committed reader can reach.
    """
    problems = _topic_problems(admin, spans)
    if not problems:
        starts = _offsets(admin, spans, _EARLIEST)
        ends = _offsets(admin, spans, _LATEST)
        problems = [
            text
            for span, low, high in zip(spans, starts, ends, strict=True)
            for text in _faults(span, low, high)
        ]
    if problems:
        raise Invalid("the cut cannot be read from Kafka:\n" + "\n".join(f"  - {text}" for text in problems))


def log_starts(admin: AdminClient, topic: str, partitions: Sequence[int]) -> dict[int, int]:
    """First offset still in the log, per partition."""
    spans = [Span(topic, partition, 0, 0) for partition in partitions]
    return dict(zip(partitions, _offsets(admin, spans, _EARLIEST), strict=True))


def log_ends(admin: AdminClient, topic: str, partitions: Sequence[int]) -> dict[int, int]:
    """Last stable offset (exclusive), per partition."""
    spans = [Span(topic, partition, 0, 0) for partition in partitions]
    return dict(zip(partitions, _offsets(admin, spans, _LATEST), strict=True))


def read_spans(spark: SparkSession, java_options: Mapping[str, str], spans: Sequence[Span]) -> DataFrame:
    """Committed records of the spans: topic, partition, offset, timestamp_ms, key, value.

    `java_options`: the Java client's settings, `bootstrap.servers` among them.
    """
    wanted = [span for span in spans if span.end > span.start]
    if not wanted:
        return spark.createDataFrame(
            [], "topic string, partition int, offset long, timestamp_ms long, key binary, value binary"
        )
    options = {f"kafka.{name}": value for name, value in java_options.items()} | {
        "kafka.isolation.level": "read_committed",
        "assign": _json(wanted, lambda found: [span.partition for span in found]),
        "startingOffsets": _json(wanted, lambda found: {str(span.partition): span.start for span in found}),
        "endingOffsets": _json(wanted, lambda found: {str(span.partition): span.end for span in found}),
        "failOnDataLoss": "true",
        "kafkaConsumer.pollTimeoutMs": str(POLL_TIMEOUT_MS),
        "maxRecordsPerPartition": str(RECORDS_PER_TASK),
    }
    raw = spark.read.format("kafka").options(**options).load()
    return raw.select(
        "topic", "partition", "offset", F.unix_millis("timestamp").alias("timestamp_ms"), "key", "value"
    )


def _topic_problems(admin: AdminClient, spans: Sequence[Span]) -> list[str]:
    names = sorted({span.topic for span in spans})
    described = admin.describe_topics(TopicCollection(names), request_timeout=REQUEST_TIMEOUT_SECONDS)
    problems = []
    for name in names:
        try:
            topic = described[name].result()
        except KafkaException as error:
            problems.append(f"{name}: {error.args[0].str()}")
            continue
        found = str(topic.topic_id)
        marked = {span.topic_id for span in spans if span.topic == name and span.topic_id is not None}
        problems += [
            f"{name}: the marker was written over topic id {other}, the topic is now {found}: "
            f"it was deleted and made again, so its offsets mean other records; rebuild the tables"
            for other in sorted(marked - {found})
        ]
        problems += [
            f"{name}: the cut has partition {span.partition}, the topic has {len(topic.partitions)}"
            for span in spans
            if span.topic == name and span.partition >= len(topic.partitions)
        ]
    return problems


def _offsets(admin: AdminClient, spans: Sequence[Span], spec: OffsetSpec) -> list[int]:
    asked = {TopicPartition(span.topic, span.partition): spec for span in spans}
    if not asked:
        return []
    told = admin.list_offsets(
        asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=REQUEST_TIMEOUT_SECONDS
    )
    try:
        found = {(at.topic, at.partition): future.result().offset for at, future in told.items()}
    except KafkaException as error:
        raise Inconclusive(
            f"the broker did not tell the ends of the log: {error.args[0].str()}; run it again"
        ) from error
    return [found[span.topic, span.partition] for span in spans]


def _faults(span: Span, log_start: int, log_end: int) -> list[str]:
    if span.end < span.start:
        return [f"{span}: it ends before it starts"]
    problems = []
    if log_start > span.start:
        problems.append(
            f"{span}: the log now starts at {log_start}: raise the topic's retention and rebuild, or accept the loss"
        )
    if log_end < span.end:
        problems.append(
            f"{span}: the log ends at {log_end}: the tables claim records that the topic does not hold"
        )
    return problems


def _json(spans: Sequence[Span], value: Callable[[list[Span]], object]) -> str:
    by_topic: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_topic[span.topic].append(span)
    return json.dumps({topic: value(found) for topic, found in by_topic.items()})
