"""Reads changelog partitions to their end, committed records only, in columns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import OffsetOutOfRangeError
from aiokafka.structs import TopicPartition

from app.domain.errors import StateError
from app.engine.drive.callbacks import PartitionRead, TakeChanges
from app.engine.drive.kafka.fetch import next_fetch
from app.engine.drive.kafka.kept_batches import STEP_RECORDS
from app.engine.drive.kafka.prepared import prepare

STALLED_SECONDS = 60.0
"""As long as a broker lets a transaction stay open by default; then it aborts it itself."""

PARTITION_FETCH_BYTES, FETCH_BYTES = 1_000_000, 2_000_000
"""What is held while it waits to be read: one fetch per partition, and one answer of each broker."""


async def read_to_end(
    client: dict[str, Any],
    topic: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    take: TakeChanges,
    done: PartitionRead = lambda partition: None,
) -> None:
    """Give `take` the committed records of each partition in `[starts[p], ends[p])`, in order, then tell `done`.

    What is taken at once is bounded, and the event loop gets its turn in between. `ends` are
    high watermarks: StateError if the last stable offset stays below one (an open transaction that nobody ends), for
    then the state would miss what follows; or if the log has lost what is to be read.
    """
    reading = {p: starts[p] for p in starts if starts[p] < ends[p]}
    for partition in starts.keys() - reading:
        done(partition)
    if not reading:
        return
    consumer = AIOKafkaConsumer(
        **client,
        group_id=None,
        enable_auto_commit=False,
        isolation_level="read_committed",
        auto_offset_reset="none",
        fetch_max_wait_ms=20,
        max_partition_fetch_bytes=PARTITION_FETCH_BYTES,
        fetch_max_bytes=FETCH_BYTES,
    )
    prepare(consumer._client)
    try:
        await consumer.start()
        consumer.assign([TopicPartition(topic, p) for p in reading])
        for partition, start in reading.items():
            consumer.seek(TopicPartition(topic, partition), start)
        await _read(consumer, topic, reading, ends, take, done)
    except OffsetOutOfRangeError as error:
        raise _cut_meanwhile(topic, error) from error
    finally:
        await consumer.stop()


def _cut_meanwhile(topic: str, error: OffsetOutOfRangeError) -> StateError:
    """Where the log ended and began was asked a moment before."""
    ((tp, offset),) = error.args[0].items()
    return StateError(
        f"{topic}-{tp.partition}, offset {offset}: it was in the log when the reading began, and is not any more: the "
        "topic was created anew, or cut. A worker that is started again says which, and what to do"
    )


async def _read(
    consumer: Any,
    topic: str,
    reading: dict[int, int],
    ends: Mapping[int, int],
    take: TakeChanges,
    done: PartitionRead,
) -> None:
    progressed = time.monotonic()
    while reading:
        with consumer._fetcher._subscriptions.fetch_context():
            fetch = await next_fetch(consumer._fetcher, timeout=0.2)
        for tp, batch in fetch:
            for piece in batch.in_pieces(STEP_RECORDS):
                take(piece)
                progressed = time.monotonic()
                reading[tp.partition] = piece.next_offset
                await asyncio.sleep(0)
        for partition in [p for p, at in reading.items() if at >= ends[p]]:
            consumer.pause(TopicPartition(topic, partition))
            del reading[partition]
            done(partition)
        if time.monotonic() - progressed > STALLED_SECONDS:
            raise StateError(
                f"{topic}: read to {reading} but the log ends at {dict(ends)}: a transaction stays open there; "
                "find its producer, or wait until the broker aborts it"
            )
