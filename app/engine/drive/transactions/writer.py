"""Writes a task's transactions: one transactional producer per task, fenced by its id."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    IllegalOperation,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    KafkaError,
    ProducerFenced,
    UnknownError,
)
from aiokafka.producer import sender

from app.base.kafka.clients import TRANSACTION_TIMEOUT_MS
from app.codecs.batches.key_hash import partition_of, partitions_of
from app.codecs.batches.written_records import pieces
from app.domain.errors import FlagfallError
from app.engine.core.batch import Output, OutputColumns, Transaction, in_parts
from app.engine.drive import failpoints
from app.engine.drive.kafka.prepared import prepare
from app.engine.drive.transactions.epochs import end_with_epochs
from app.engine.drive.transactions.written_batch import WrittenBatch

sender.BACKOFF_OVERRIDE = 0.002
"""aiokafka waits 20 ms when the broker still writes the last transaction's marker; 2 ms bring a small
transaction from 25 ms to 2 ms."""

BATCH_BYTES = 900_000
"""Below the broker's default message.max.bytes; a transaction holds as many batches as it needs."""
STEP_RECORDS = 500
"""So many single ones are put into batches before others have their turn on the event loop: each takes 10 to 20 µs."""

ProducedRecord = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes]]]
"""Timestamp in milliseconds, key, value, headers."""


class SentBatch(NamedTuple):
    """A batch on its way: the broker's answer when it comes, and how many records it holds."""

    future: asyncio.Future[Any]
    records: int


class Fenced(FlagfallError):
    """Somebody else has taken the task over, or may have; the state here is not the log's any more."""


class TaskWriter:
    """The only writer of one changelog partition, as long as it is not fenced."""

    def __init__(self, client: dict[str, Any], transactional_id: str, changelog: str, partition: int) -> None:
        self._changelog, self._partition = changelog, partition
        self._producer = AIOKafkaProducer(
            **client,
            transactional_id=transactional_id,
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            enable_idempotence=True,
            acks="all",
            compression_type="zstd",
            max_batch_size=BATCH_BYTES,
            max_request_size=4 * BATCH_BYTES,
            retry_backoff_ms=20,
        )
        prepare(self._producer.client)

    async def fence(self) -> None:
        """Take the transactional id: the former owner's open transaction is aborted, and it can write no more.

        ClusterError if no broker is told of, or none answers, for half a minute.
        """
        failpoints.reached(failpoints.TASK_FENCING)
        await self._producer.start()
        await end_with_epochs(self._producer)
        self._producer._sender.sender_task.add_done_callback(self._see_ended)
        failpoints.reached(failpoints.TASK_FENCED)

    async def write(self, transaction: Transaction) -> int:
        """Write it all and commit; gives the offset of the marker's record. Fenced if another owner took over, or may
        have."""
        try:
            await self._producer.begin_transaction()
            failpoints.reached(failpoints.TRANSACTION_BEGUN)
            if failpoints.is_due(failpoints.TRANSACTION_HALF_SENT):
                await self._send_half(transaction)
            failpoints.reached(failpoints.TRANSACTION_HALF_SENT)
            changelog = await self._send_changelog(transaction)
            outputs = list[SentBatch]()
            for part in in_parts(transaction.outputs):
                if isinstance(part, OutputColumns):
                    outputs += await self._send_columns(part)
                else:
                    outputs += await self._send_outputs(part)
            offsets = [told.offset for told in await asyncio.gather(*(s.future for s in changelog + outputs))]
            failpoints.reached(failpoints.TRANSACTION_SENT)
            await self._producer.commit_transaction()
            failpoints.reached(failpoints.TRANSACTION_COMMITTED)
        except (KafkaError, IllegalOperation) as error:
            if (why := self._lost_by(error)) is None:
                raise
            raise Fenced(f"{self._changelog}-{self._partition}: {why}") from error
        return int(offsets[len(changelog) - 1]) + changelog[-1].records - 1

    def _lost_by(self, error: Exception) -> str | None:
        """How the task may have been lost, if the error says so.

        When aiokafka's sender has ended it takes no further batch, and does not say why; the batches under way are no
        witness: each is told a turn of the event loop later, or never.
        """
        ended = self._producer._sender.sender_task
        if isinstance(error, IllegalOperation) and ended.done() and not ended.cancelled():
            error = ended.exception() or error
        told = {type(error), type(error.__cause__)}
        if told & {ProducerFenced, InvalidProducerEpoch, InvalidProducerIdMapping}:
            return "another worker has taken this task over, or its id has expired"
        if UnknownError in told:  # the coordinator fails so where somebody fences the task in this very moment
            return "the broker does not say what became of a transaction of this task"
        return None

    def _see_ended(self, _: asyncio.Task[None]) -> None:
        """See the error that ended aiokafka's sender in futures of its own for which nobody waits any more: the
        transaction's, and those of batches that were not sent. They would complain with a traceback each."""
        queued = self._producer._message_accumulator._batches.values()
        waited_for = [batch._drain_waiter for batches in queued for batch in batches]
        for future in (self._producer._txn_manager.wait_for_transaction_end(), *waited_for):
            if future is not None and future.done():
                _seen(future)

    async def stop(self) -> None:
        """Close the producer; an open transaction is aborted."""
        try:
            await asyncio.wait_for(self._producer.stop(), timeout=10)
        except (KafkaError, TimeoutError, asyncio.CancelledError):
            self._producer._closed = True  # nothing of it is needed any more; the next owner fences it

    async def _send_half(self, transaction: Transaction) -> None:
        """The first half of the changelog's records, acknowledged by the broker: for a fail-point."""
        half = replace(transaction, changelog=transaction.changelog[: max(1, len(transaction.changelog) // 2)])
        await asyncio.gather(*(sent.future for sent in await self._send_changelog(half)))

    async def _send_changelog(self, transaction: Transaction) -> list[SentBatch]:
        keys, values, now_ms = transaction.changelog.keys, transaction.changelog.values, _now_ms()
        sent = []
        for piece in pieces(keys, values, BATCH_BYTES):
            written = keys[piece], values[piece]
            batch = WrittenBatch(*written, np.full(len(written[0]), now_ms))
            sent.append(await self._send_batch(batch, self._changelog, self._partition))
            await asyncio.sleep(0)
        return sent

    async def _send_columns(self, outputs: OutputColumns) -> list[SentBatch]:
        """No record of them is made an object."""
        if outputs.partition is not None:
            return await self._send_to_one(outputs, outputs.partition)
        places = partitions_of(outputs.keys, len(await self._producer.partitions_for(outputs.topic)))
        parts = [(place, outputs.at(np.flatnonzero(places == place))) for place in np.unique(places).tolist()]
        return [sent for place, part in parts for sent in await self._send_to_one(part, place)]

    async def _send_to_one(self, outputs: OutputColumns, partition: int) -> list[SentBatch]:
        """To one topic-partition."""
        sent, now_ms = [], _now_ms()
        for piece in pieces(outputs.keys, outputs.values, BATCH_BYTES):
            some = outputs[piece]
            if (largest := int(some.values.lengths.max())) > BATCH_BYTES:
                raise _too_large(some.topic, largest)
            times_ms = np.full(len(some), now_ms) if some.timestamps_ms is None else some.timestamps_ms
            batch = WrittenBatch(some.keys, some.values, times_ms)
            sent.append(await self._send_batch(batch, some.topic, partition))
            await asyncio.sleep(0)
        return sent

    async def _send_outputs(self, outputs: Sequence[Output]) -> list[SentBatch]:
        """What goes to other topics, in whole batches: a send of its own for each record takes ten times as long."""
        places: dict[tuple[str, int], list[ProducedRecord]] = {}
        counts, chosen, now_ms = dict[str, int](), dict[tuple[str, bytes | None], int](), _now_ms()
        for nth, output in enumerate(outputs):
            partition = output.partition
            if partition is None:
                partition = chosen.get((output.topic, output.key))
            if partition is None:
                if output.topic not in counts:
                    counts[output.topic] = len(await self._producer.partitions_for(output.topic))
                partition = self._partition_of(output.key, counts[output.topic])
                chosen[output.topic, output.key] = partition
            timestamp_ms = now_ms if output.timestamp_ms is None else output.timestamp_ms
            record = (timestamp_ms, output.key, output.value, list(output.headers))
            places.setdefault((output.topic, partition), []).append(record)
            if nth % STEP_RECORDS == STEP_RECORDS - 1:
                await asyncio.sleep(0)
        return [sent for place, records in places.items() for sent in await self._send(*place, records)]

    def _partition_of(self, key: bytes | None, count: int) -> int:
        """As Java's producers choose it; without a key, always the same one."""
        return self._partition % count if key is None else partition_of(key, count)

    async def _send(self, topic: str, partition: int, records: Iterable[ProducedRecord]) -> list[SentBatch]:
        """Records of one topic-partition in order, in as many batches as they need."""
        sent, batch = [], self._producer.create_batch()
        for nth, (timestamp_ms, key, value, headers) in enumerate(records):
            if batch.append(timestamp=timestamp_ms, key=key, value=value, headers=headers) is None:
                sent.append(await self._send_batch(batch, topic, partition))
                batch = self._producer.create_batch()
                if batch.append(timestamp=timestamp_ms, key=key, value=value, headers=headers) is None:
                    raise _too_large(topic, len(value or b""))
            if nth % STEP_RECORDS == STEP_RECORDS - 1:
                await asyncio.sleep(0)
        sent.append(await self._send_batch(batch, topic, partition))
        return sent

    async def _send_batch(self, batch: Any, topic: str, partition: int) -> SentBatch:
        """aiokafka goes on hearing of those topics alone that it was told to add, and adds none that it happens to know
        of: a batch for such a one would fail 40 s after the next change of leaders."""
        count = batch.record_count()
        await self._producer.client.add_topic(topic)
        future = await self._producer.send_batch(batch, topic, partition=partition)
        future.add_done_callback(_seen)
        return SentBatch(future, count)


def _too_large(topic: str, value_bytes: int) -> FlagfallError:
    return FlagfallError(f"a record of {value_bytes} bytes for {topic} does not fit {BATCH_BYTES}")


def _seen(future: asyncio.Future[Any]) -> None:
    """Whoever waits for the first of several that fail is told; the others need not complain that nobody looked."""
    if not future.cancelled():
        future.exception()


def _now_ms() -> int:
    return int(time.time() * 1000)
