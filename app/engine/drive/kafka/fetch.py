"""Fetched records by column instead of one object per record.

`drain` does what aiokafka's `Fetcher.fetched_records` does (0.14.0, pinned), and `_unpack` with `KeptBatches` what its
`PartitionRecords._unpack_records` does: same checks of the assignment, same handling of aborted transactions and
control batches, same movement of the position; but a fetch becomes one `Batch` per topic-partition, its keys and
values in one buffer. tests/integration/kafka/test_fetch.py holds both to the same answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from aiokafka.consumer import fetcher as aiokafka_fetcher
from aiokafka.consumer.fetcher import Fetcher, FetchResult, PartitionRecords
from aiokafka.errors import CorruptRecordException
from aiokafka.structs import TopicPartition

from app.engine.core.batch import Batch
from app.engine.drive.kafka.kept_batches import STEP_RECORDS, KeptBatches

Drained = dict[TopicPartition, list[Batch]]
Found = TypeVar("Found")

aiokafka_fetcher.MemoryRecords = KeptBatches


async def drain(fetcher: Fetcher, partitions: Collection[Any] | None, timeout: float) -> Drained:
    """What was fetched, one batch per topic-partition; waits up to `timeout` seconds for something.

    Not always all of it: what is more than STEP_RECORDS comes with the next calls. `partitions` None or empty means
    all. Raises what the fetch raised, and CorruptRecordException for a bad checksum.
    """
    return await _found(fetcher, lambda: _drain_now(fetcher, partitions), timeout) or {}


async def next_fetch(fetcher: Fetcher, timeout: float) -> Iterator[tuple[TopicPartition, Batch]]:
    """One fetch of one topic-partition, in steps as `drain` makes them; nothing after `timeout` seconds without one.

    The consumer's position is behind all of it at once, so that the next fetch is on its way while this one is read.
    """
    taken = await _found(fetcher, lambda: _take_whole(fetcher), timeout)
    return iter(()) if taken is None else _steps(*taken)


async def _found(fetcher: Fetcher, look: Callable[[], Found], timeout: float) -> Found | None:
    """What `look` gives that is not empty, waiting up to `timeout` seconds for more to be fetched."""
    deadline = time.monotonic() + timeout
    while True:
        if fetcher._subscriptions.reassignment_in_progress:
            await fetcher._subscriptions.wait_for_assignment()
        found = look()
        left = deadline - time.monotonic()
        if found or left <= 0:
            return found
        waiter = fetcher._create_fetch_waiter()
        done, _ = await asyncio.wait([waiter], timeout=left)
        if not done or fetcher._closed:
            waiter.cancel()
            return None
        waiter.result()  # raises authorization errors


def _take_whole(fetcher: Fetcher) -> tuple[TopicPartition, PartitionRecords] | None:
    for tp, fetched in list(fetcher._records.items()):
        _release(fetcher, tp)
        if not isinstance(fetched, FetchResult):
            fetched.check_raise()
        elif fetched.check_assignment(tp) and fetched.has_more():
            records = fetched._partition_records
            base = records.next_fetch_offset
            with _told_as_corrupt(tp, base):
                records.next_fetch_offset = records._records.next_offset
            fetched._update_position()
            records.next_fetch_offset = base
            return tp, records
    return None


def _steps(tp: TopicPartition, records: PartitionRecords) -> Iterator[tuple[TopicPartition, Batch]]:
    while records._records.has_more:
        yield tp, _unpack(tp, records, records.next_fetch_offset)


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
        if not fetched.has_more():
            _release(fetcher, tp)
        if batch is not None:
            drained[tp] = [batch]
        if sum(len(batch) for batches in drained.values() for batch in batches) >= STEP_RECORDS:
            return drained
    return drained


def _release(fetcher: Fetcher, tp: TopicPartition) -> None:
    del fetcher._records[tp]
    fetcher._notify(fetcher._wait_consume_future)


def _take(tp: TopicPartition, fetched: FetchResult) -> Batch | None:
    """The next records of one fetch; None if the position has moved meanwhile, or nothing lay in it."""
    if not fetched.check_assignment(tp) or not fetched.has_more():
        return None
    records = fetched._partition_records
    base = records.next_fetch_offset
    batch = _unpack(tp, records, base)
    fetched._update_position()
    if not records._records.has_more:
        fetched._partition_records = None
    return batch if batch.next_offset > base else None


def _unpack(tp: TopicPartition, fetched: PartitionRecords, base: int) -> Batch:
    fetched._records_iterator = (
        None  # a generator of itself, never used: the fetch would stay until garbage is collected
    )
    with _told_as_corrupt(tp, base):
        records = fetched._records.next_records(fetched, base)
    return Batch(
        topic=tp.topic,
        partition=tp.partition,
        base_offset=base,
        next_offset=fetched.next_fetch_offset,
        offsets=records.offsets,
        timestamps_ms=records.timestamps_ms,
        keys=records.keys,
        values=records.values,
        headers=records.headers,
        unread=records.unread,
    )


@contextmanager
def _told_as_corrupt(tp: TopicPartition, base: int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise CorruptRecordException(f"{tp.topic}-{tp.partition}: fetched from offset {base}: {error}") from error
