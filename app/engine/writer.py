"""Writes a task's transactions: one transactional producer per task, fenced by its id."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidProducerEpoch, KafkaError, ProducerFenced
from aiokafka.producer import sender

from app.domain.errors import FlagfallError
from app.engine.batch import Output, Transaction

sender.BACKOFF_OVERRIDE = 0.002
"""aiokafka waits 20 ms when the broker still writes the last transaction's marker; 2 ms bring a small
transaction from 25 ms to 2 ms."""

BATCH_BYTES = 900_000
"""Below the broker's default message.max.bytes; a transaction holds as many batches as it needs."""


class Fenced(FlagfallError):
    """Somebody else has taken the task over; the state here is not the log's any more."""


class TaskWriter:
    """The only writer of one changelog partition, as long as it is not fenced."""

    def __init__(self, client: dict[str, Any], transactional_id: str, changelog: str, partition: int) -> None:
        self._changelog, self._partition = changelog, partition
        self._producer = AIOKafkaProducer(
            **client,
            transactional_id=transactional_id,
            enable_idempotence=True,
            acks="all",
            compression_type="zstd",
            max_batch_size=BATCH_BYTES,
            max_request_size=4 * BATCH_BYTES,
            retry_backoff_ms=20,
        )

    async def fence(self) -> None:
        """Take the transactional id: the former owner's open transaction is aborted, and it can write no more."""
        await self._producer.start()

    async def write(self, transaction: Transaction) -> int:
        """Write it all and commit; gives the offset of the marker's record. Fenced if another owner took over."""
        try:
            await self._producer.begin_transaction()
            sent = await self._send_changelog(transaction)
            sent += [await self._send(output) for output in transaction.outputs]
            results = await asyncio.gather(*(future for future, _ in sent))
            await self._producer.commit_transaction()
        except (ProducerFenced, InvalidProducerEpoch) as error:
            raise Fenced(f"{self._changelog}-{self._partition}: another worker has taken this task over") from error
        last = len([s for s in sent if s[1]]) - 1
        return int(results[last].offset) + sent[last][1] - 1

    async def stop(self) -> None:
        """Close the producer; an open transaction is aborted."""
        try:
            await asyncio.wait_for(self._producer.stop(), timeout=10)
        except (KafkaError, TimeoutError, asyncio.CancelledError):
            self._producer._closed = True  # nothing of it is needed any more; the next owner fences it

    async def _send_changelog(self, transaction: Transaction) -> list[tuple[Any, int]]:
        """Futures of the batches sent, each with its record count."""
        now_ms = int(time.time() * 1000)
        sent, batch = [], self._producer.create_batch()
        for key, value in transaction.changelog:
            if batch.append(timestamp=now_ms, key=key, value=value) is None:
                sent.append(await self._send_batch(batch))
                batch = self._producer.create_batch()
                if batch.append(timestamp=now_ms, key=key, value=value) is None:
                    raise FlagfallError(
                        f"a changelog record of {len(value or b'')} bytes does not fit into {BATCH_BYTES}"
                    )
        sent.append(await self._send_batch(batch))
        return sent

    async def _send_batch(self, batch: Any) -> tuple[Any, int]:
        count = batch.record_count()
        return await self._producer.send_batch(batch, self._changelog, partition=self._partition), count

    async def _send(self, output: Output) -> tuple[Any, int]:
        if output.key is None and output.value is None:
            return await self._send_empty(output), 0
        future = await self._producer.send(
            output.topic, value=output.value, key=output.key, headers=list(output.headers) or None
        )
        return future, 0

    async def _send_empty(self, output: Output) -> Any:
        """A record of headers alone, which aiokafka's `send` refuses."""
        batch = self._producer.create_batch()
        batch.append(timestamp=int(time.time() * 1000), key=None, value=None, headers=list(output.headers))
        partitions = await self._producer.partitions_for(output.topic)
        return await self._producer.send_batch(batch, output.topic, partition=self._partition % len(partitions))
