"""Small reads on the driver: one marker, the advances. Bulk is read by Spark."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from confluent_kafka import Message

from app.base.kafka.committed import committed
from app.codecs.stored.advances import read_advance
from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import decode_marker, encode_marker
from app.domain.advance import Advance
from app.domain.records import Place
from spark_batch.errors import Invalid
from spark_batch.stored.cut import Span, TaskCut

LARGEST_FETCH_BYTES = 1 << 30
"""librdkafka uncompresses no batch that becomes larger; its default is 100 MB."""


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
            advance = read_advance(message.value())
            if advance is not None and advance.at_offset <= ends.get((advance.topic, advance.partition), -1):  # type: ignore[call-overload]
                found.append(advance)
    return found


def read_value(client: Mapping[str, Any], at: Place) -> bytes | None:
    """The value of the record there, fetched with its batch alone: a fetch may hold many large ones."""
    one_by_one = {**client, "fetch.message.max.bytes": 1, "receive.message.max.bytes": LARGEST_FETCH_BYTES}
    with closing(committed(one_by_one, at.topic, at.partition, at.offset)) as records:  # type: ignore[type-var]
        found = next(records, None)
    if found is None or found.offset() != at.offset:
        raise Invalid(
            f"{at.topic}-{at.partition} offset {at.offset}: {_seen(found)}, and a record was read there before"
        )
    value: bytes | None = found.value()
    return value


def overwritten_too_early(first_after_ms: int | None, compaction_lag_ms: int) -> bool:
    """Whether compaction may already have removed rows of the cut that were overwritten after it."""
    return first_after_ms is not None and time.time() * 1000 - first_after_ms >= compaction_lag_ms


def _seen(message: Message | None) -> str:
    return (
        "nothing is there"
        if message is None
        else f"the next record is at {message.offset()} with key {(message.key() or b'').hex()}"
    )
