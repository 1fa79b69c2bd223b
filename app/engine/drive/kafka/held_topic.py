"""A small compacted topic held whole by a worker: read to its end, then followed. For what is joined when answering.

It is no input of a task: nothing that is applied may depend on it, as it may be read at any time (rule 16).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import mode
from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from app.domain.errors import FlagfallError
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.prepared import prepare

log = logging.getLogger(__name__)

PARTITION = 0
"""Such a topic has one partition, so that one offset says which state of it was used."""
AGAIN_SECONDS = 2.0
POLL_MS = 2_000
"""How long the broker may keep a fetch that finds nothing new; a new record it tells at once."""

HeldValue = TypeVar("HeldValue")


@dataclass
class HeldValues(Generic[HeldValue]):
    """What a worker holds of a topic: `values` by key, as of `next_offset`; None before it was read to its end.

    `read` makes a value of a record's bytes, or raises ValueError. `why`: what is in the way of knowing more.
    """

    topic: str
    read: Callable[[bytes], HeldValue]
    values: dict[bytes, HeldValue] = field(default_factory=dict)
    next_offset: int | None = None
    why: str | None = "it has not been read yet"

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """A record of the topic; one without a value removes its key. ValueError if it cannot be read."""
        if key is None:
            raise ValueError("it has no key")
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = self.read(value)


class HeldTopic(mode.Service):
    """Keeps `held` up to date for as long as the worker runs. What cannot be read is told in the log, and left out."""

    def __init__(self, held: HeldValues[Any], connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self.held, self._connections = held, connections

    async def on_start(self) -> None:
        self.add_future(self._keep())

    async def _keep(self) -> None:
        while not self.should_stop:
            try:
                await self._follow()
            except (FlagfallError, KafkaError) as error:
                if self.held.why != str(error):
                    log.warning("topic %s cannot be read now: %s", self.held.topic, error)
                self.held.why = str(error)
            await self.sleep(AGAIN_SECONDS)

    async def _follow(self) -> None:
        """From the log's start, into new values, which replace the old ones when its end is reached."""
        topic, place = self.held.topic, TopicPartition(self.held.topic, PARTITION)
        await asyncio.to_thread(self._connections.cluster.topics, [topic])  # in words, if there is none
        fresh = HeldValues(topic, self.held.read)
        consumer = AIOKafkaConsumer(
            **self._connections.client,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=POLL_MS,
        )
        prepare(consumer._client)
        try:
            await consumer.start()
            consumer.assign([place])
            await consumer.seek_to_beginning(place)
            (end,) = (await consumer.end_offsets([place])).values()
            while not self.should_stop:
                position = await consumer.position(place)
                if fresh is not self.held and position >= end:
                    self.held.values, self.held.why = fresh.values, None
                    fresh = self.held
                if fresh is self.held:
                    self.held.next_offset = position
                for records in (await consumer.getmany(timeout_ms=POLL_MS)).values():
                    for record in records:
                        take_record(fresh, record)
        finally:
            await consumer.stop()


def take_record(held: HeldValues[Any], record: ConsumerRecord[bytes | None, bytes | None]) -> None:
    """Take a record of the topic; one that cannot be read is told in the log, and changes nothing."""
    try:
        held.take(record.key, record.value)
    except ValueError as error:
        log.warning("%s-%d: the record at offset %d is left out: %s", held.topic, PARTITION, record.offset, error)
