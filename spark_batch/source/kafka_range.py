"""Exact offset ranges of Kafka topics: checked on the driver first, then read by Spark.

Spark by itself waits two minutes for an offset beyond the log, and reads aborted records unless told not to.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.base.kafka.cluster import Cluster, ClusterError, NotAllowed
from spark_batch.errors import Inconclusive, Invalid
from spark_batch.stored.cut import Span

POLL_TIMEOUT_MS = 30_000
FETCH_WAIT_MS = 10
"""How long a broker waits for more at the end of a log, up to which each task reads; half a second by default."""
RECORDS_PER_TASK = 1_000_000
"""Ranges are split at this size, so that one large partition keeps all cores busy."""
RECORD_SCHEMA = "topic string, partition int, offset long, timestamp_ms long, key binary, value binary"


def check_spans(cluster: Cluster, spans: Sequence[Span]) -> None:
    """Invalid, naming every span that the cluster cannot give: topic gone or made anew, log cut off or too short.

    The log's end is the last *stable* offset: what a read_committed reader can reach.
    """
    with told_by(cluster):
        problems = list(_topic_problems(cluster, spans)) or list(_range_problems(cluster, spans))
    if problems:
        listed = "\n".join(f"  - {text}" for text in dict.fromkeys(problems))
        raise Invalid(f"the cut cannot be read from Kafka:\n{listed}")


def read_spans(spark: SparkSession, java_options: Mapping[str, str], spans: Sequence[Span]) -> DataFrame:
    """Committed records of the spans: topic, partition, offset, timestamp_ms, key, value.

    `java_options`: the Java client's settings, `bootstrap.servers` among them.
    """
    wanted = [span for span in spans if span.end > span.start]
    if not wanted:
        return spark.createDataFrame([], RECORD_SCHEMA)
    options = {f"kafka.{name}": value for name, value in java_options.items()} | {
        "kafka.isolation.level": "read_committed",
        "kafka.fetch.max.wait.ms": str(FETCH_WAIT_MS),
        "assign": _json(wanted, lambda found: [span.partition for span in found]),
        "startingOffsets": _json(wanted, lambda found: {str(span.partition): span.start for span in found}),
        "endingOffsets": _json(wanted, lambda found: {str(span.partition): span.end for span in found}),
        "failOnDataLoss": "true",
        "kafkaConsumer.pollTimeoutMs": str(POLL_TIMEOUT_MS),
        "maxRecordsPerPartition": str(RECORDS_PER_TASK),
    }
    raw = spark.read.format("kafka").options(**options).load()
    return raw.select("topic", "partition", "offset", F.unix_millis("timestamp").alias("timestamp_ms"), "key", "value")


@contextmanager
def told_by(cluster: Cluster) -> Iterator[None]:
    """What the cluster answers instead of facts, as a reason for no verdict."""
    try:
        yield
    except ClusterError as error:
        cause = error.__cause__
        unknown = isinstance(cause, KafkaException) and cause.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
        if unknown:
            raise Invalid(f"{error}; without it nothing can be recomputed") from error
        if isinstance(error, NotAllowed):
            raise Inconclusive(str(error)) from error
        raise Inconclusive(f"{error}; run it again when the cluster is well") from error


def _topic_problems(cluster: Cluster, spans: Sequence[Span]) -> Iterator[str]:
    facts = cluster.topics(span.topic for span in spans)
    for span in spans:
        if span.topic_id not in (None, facts[span.topic].id):
            yield (
                f"{span.topic}: the marker was written over topic id {span.topic_id}, the topic is now "
                f"{facts[span.topic].id}: it was deleted and made again, so its offsets mean other records; "
            )
        elif span.partition >= facts[span.topic].partitions:
            yield f"{span}: the topic has {facts[span.topic].partitions} partitions"


def _range_problems(cluster: Cluster, spans: Sequence[Span]) -> Iterator[str]:
    starts = cluster.log_starts(span.at for span in spans)
    ends = cluster.log_ends((span.at for span in spans), committed=True)
    for span in spans:
        if span.end < span.start:
            yield f"{span}: it ends before it starts"
        if starts[span.at] > span.start:
            yield f"{span}: the log now starts at {starts[span.at]}; `flagfall rebuild` makes tables of what is left"
        if ends[span.at] < span.end:
            yield f"{span}: the log ends at {ends[span.at]}: the tables claim records that the topic does not hold"


def _json(spans: Sequence[Span], value: Callable[[list[Span]], object]) -> str:
    by_topic: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_topic[span.topic].append(span)
    return json.dumps({topic: value(found) for topic, found in by_topic.items()})
