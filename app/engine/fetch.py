"""Fetched records by column instead of one object per record.

`drain` does what aiokafka's `Fetcher.fetched_records` does (0.14.0, pinned), and `_unpack` what its
`PartitionRecords._unpack_records` does: same checks of the assignment, same handling of aborted transactions and
control batches, same movement of the position; but a fetch becomes one `Batch` per topic-partition.
tests/integration/test_fetch.py holds both to the same answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any

import numpy as np
from aiokafka.consumer.fetcher import READ_COMMITTED, Fetcher, FetchResult, PartitionRecords
from aiokafka.errors import CorruptRecordException
from aiokafka.structs import TopicPartition

from app.engine.batch import Batch

Drained = dict[TopicPartition, list[Batch]]


async def drain(fetcher: Fetcher, partitions: Collection[Any] | None, timeout: float) -> Drained:
    """What was fetched, one batch per topic-partition; waits up to `timeout` seconds for something.

    `partitions` None or empty means all. Raises what the fetch raised, and CorruptRecordException for a bad checksum.
    """
    deadline = time.monotonic() + timeout
    while True:
        if fetcher._subscriptions.reassignment_in_progress:
            await fetcher._subscriptions.wait_for_assignment()
        drained = _drain_now(fetcher, partitions)
        left = deadline - time.monotonic()
        if drained or left <= 0:
            return drained
        waiter = fetcher._create_fetch_waiter()
        done, _ = await asyncio.wait([waiter], timeout=left)
        if not done or fetcher._closed:
            waiter.cancel()
            return {}
        waiter.result()  # raises authorization errors


def _drain_now(fetcher: Fetcher, partitions: Collection[Any] | None) -> Drained:
    drained: Drained = {}
    for tp in list(fetcher._records):
        if partitions and tp not in partitions:
            if not fetcher._subscriptions.is_assigned(tp):
                del fetcher._records[tp]
            continue
        fetched = fetcher._records[tp]
        if not isinstance(fetched, FetchResult):
            if drained:
                return drained  # the error comes with the next call
            _release(fetcher, tp)
            fetched.check_raise()
            continue
        batch = _take(tp, fetched)
        _release(fetcher, tp)
        if batch is not None:
            drained[tp] = [batch]
    return drained


def _release(fetcher: Fetcher, tp: TopicPartition) -> None:
    del fetcher._records[tp]
    fetcher._notify(fetcher._wait_consume_future)


def _take(tp: TopicPartition, fetched: FetchResult) -> Batch | None:
    """All records of one fetch; None if the position has moved meanwhile, or nothing lay in it."""
    if not fetched.check_assignment(tp) or not fetched.has_more():
        return None
    records = fetched._partition_records
    base = records.next_fetch_offset
    batch = _unpack(tp, records, base)
    fetched._update_position()
    fetched._partition_records = None
    return batch if batch.next_offset > base else None


def _unpack(tp: TopicPartition, partition_records: PartitionRecords, base: int) -> Batch:
    offsets: list[int] = []
    timestamps: list[int] = []
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    headers: list[Any] = []
    log, next_offset = partition_records._records, base
    while log.has_next():
        block = log.next_batch()
        if partition_records._check_crcs and not block.validate_crc():
            raise CorruptRecordException(f"{tp.topic}-{tp.partition}: wrong checksum at offset {block.base_offset}")
        if not _is_data(partition_records, block):
            next_offset = block.next_offset
            continue
        for record in block:
            if record.offset < next_offset:
                continue
            offsets.append(record.offset)
            timestamps.append(record.timestamp)
            keys.append(record.key)
            values.append(record.value)
            headers.append(record.headers)
        next_offset = block.next_offset
    partition_records.next_fetch_offset = next_offset
    return Batch(
        topic=tp.topic,
        partition=tp.partition,
        base_offset=base,
        next_offset=next_offset,
        offsets=np.array(offsets, np.int64),
        timestamps_ms=np.array(timestamps, np.int64),
        keys=keys,
        values=values,
        headers=headers,
    )


def _is_data(partition_records: PartitionRecords, block: Any) -> bool:
    """Whether a record batch holds records to read: neither control records nor an aborted transaction's."""
    if partition_records._isolation_level == READ_COMMITTED and block.producer_id is not None:
        partition_records._consume_aborted_up_to(block.base_offset)
        if block.is_control_batch and partition_records._contains_abort_marker(block):
            partition_records._aborted_producers.discard(block.producer_id)
        if block.is_transactional and block.producer_id in partition_records._aborted_producers:
            return False
    return not block.is_control_batch
