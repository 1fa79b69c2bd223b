"""Small reads on the driver: one marker, the advances. Bulk is read by Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import orjson
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from app.codecs.changelog import marker_key
from app.codecs.marker import decode_marker, encode_marker
from app.domain.fold import Advance
from spark_batch.cut import Span, TaskCut
from spark_batch.errors import Inconclusive, Invalid

READ_TIMEOUT_SECONDS = 30.0
FETCH_WAIT_MS = 10
"""The end of a partition is told after one fetch that found nothing."""


def committed(
    client: Mapping[str, Any], topic: str, partition: int, start: int = OFFSET_BEGINNING
) -> Iterator[Message]:
    """Committed records from `start` to the log's last stable offset.

    The end is told by the consumer's end-of-partition event, not by an offset: the last one may be a control record.
    Raises Inconclusive if nothing comes for half a minute.
    """
    settings = dict(client) | {
        "group.id": "flagfall-reconcile",  # demanded by the client, never used: nothing is committed
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": FETCH_WAIT_MS,
        "log_level": 0,  # what matters is raised
    }
    consumer = Consumer(settings)
    with closing(consumer):
        consumer.assign([TopicPartition(topic, partition, start)])
        while True:
            message = consumer.poll(READ_TIMEOUT_SECONDS)
            if message is None:
                raise Inconclusive(f"{topic}-{partition}: nothing came for {READ_TIMEOUT_SECONDS:.0f} s; run it again")
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                return
            else:
                raise Invalid(f"{topic}-{partition}: {error.str()}")


def check_marker(client: Mapping[str, Any], topic: str, cut: TaskCut) -> int | None:
    """Invalid unless the changelog holds the export's marker where the export says.

    Returns the Kafka timestamp (ms) of the first record after it, None if there is none: from then on rows of
    the cut may have been overwritten.
    """
    where = f"{topic}-{cut.partition} offset {cut.changelog_offset}"
    records = committed(client, topic, cut.partition, cut.changelog_offset)
    first = next(records, None)
    if first is None or first.offset() != cut.changelog_offset or first.key() != marker_key(cut.marker.source):
        raise Invalid(f"{where}: {_seen(first)}, the export of {cut.view.name} says its marker is there")
    if encode_marker(decode_marker(first.value() or b"")) != encode_marker(cut.marker):
        raise Invalid(
            f"{where}: the marker there is not the one of the export of {cut.view.name}: two states share a name"
        )
    after = next(records, None)
    return None if after is None else int(after.timestamp()[1])


def read_advances(client: Mapping[str, Any], topic: str, partitions: int, spans: list[Span]) -> list[Advance]:
    """Advances of the spans' topic-partitions; one above its span's end concerns none of its records."""
    ends = {span.at: span.end for span in spans}
    found = []
    for partition in range(partitions):
        for message in committed(client, topic, partition):
            told = orjson.loads(message.value() or b"{}")
            advance = Advance(told["topic"], told["partition"], told["at_offset"], told["watermark_us"])
            if advance.at_offset <= ends.get((advance.topic, advance.partition), -1):  # type: ignore[call-overload]
                found.append(advance)
    return found


def overwritten_too_early(first_after_ms: int | None, compaction_lag_ms: int) -> bool:
    """Whether compaction may already have removed rows of the cut that were overwritten after it."""
    return first_after_ms is not None and time.time() * 1000 - first_after_ms >= compaction_lag_ms


def _seen(message: Message | None) -> str:
    return (
        "nothing is there"
        if message is None
        else f"the next record is at {message.offset()} with key {(message.key() or b'').hex()}"
    )
