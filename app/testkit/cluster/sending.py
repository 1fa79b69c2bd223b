"""A task's transaction as records for topic-partitions, in an order that its producer may have."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator

from app.domain.records import TopicPartition
from app.engine.core.batch import Output, Transaction
from app.testkit.cluster.partition_log import SentRecord


def in_some_order(
    transaction: Transaction, changelog: TopicPartition, partitions: int, draws: random.Random
) -> Iterator[tuple[TopicPartition, SentRecord]]:
    """Changelog records and outputs, each kind in its own order."""
    changes, outputs = list(transaction.changelog), list(transaction.outputs)
    while changes or outputs:
        if draws.randrange(len(changes) + len(outputs)) < len(changes):
            yield changelog, SentRecord(*changes.pop(0))
        else:
            output = outputs.pop(0)
            sent = SentRecord(output.key, output.value, output.headers, output.timestamp_ms or 0)
            yield _place_of(output, changelog.partition, partitions), sent


def _place_of(output: Output, task: int, partitions: int) -> TopicPartition:
    if output.partition is not None:
        return TopicPartition(output.topic, output.partition)
    chosen = task if output.key is None else zlib.crc32(output.key)
    return TopicPartition(output.topic, chosen % partitions)
