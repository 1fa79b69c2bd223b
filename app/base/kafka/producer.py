"""An idempotent producer for blocks of records, that knows at the end what the brokers confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as Client

from app.base.errors import DeliveryFailed
from app.base.kafka.clients import librdkafka_options
from app.base.setting_groups import KafkaSettings

OPTIONS: Final[dict[str, Any]] = {
    "acks": "all",
    "enable.idempotence": True,  # no doubles and no disorder when a request is repeated
    "partitioner": "murmur2_random",  # what Java clients do, so that keys meet their other halves
    "compression.type": "lz4",
    "linger.ms": 20,
    "queue.buffering.max.messages": 250_000,
    "message.timeout.ms": 120_000,
    "delivery.report.only.error": True,  # a call per confirmed record would halve the speed
    "log_level": 0,
}
ROOM_POLL_SECONDS: Final = 0.1
FLUSH_SECONDS: Final = 150.0
"""Longer than message.timeout.ms, after which every record is either confirmed or reported as failed."""


class Producer:
    """Sends records in order; `sent == confirmed` after `finish`, or it raises.

    Not for several threads. `topic` must exist: nothing is created here.
    """

    def __init__(self, kafka: KafkaSettings, client: Client | None = None) -> None:
        self.sent = 0
        self.failed = 0
        self._address = kafka.bootstrap_server
        self._first_failure = ""
        if client is None:  # its truth is its queue's length
            client = Client({**librdkafka_options(kafka), **OPTIONS, "on_delivery": self._note_failure})
        self._client = client

    def send(
        self,
        topic: str,
        values: Sequence[bytes],
        keys: Sequence[bytes | None],
        timestamps_ms: Sequence[int],
        partition: int = -1,
    ) -> None:
        """Queue a block; waits while the queue is full. -1: the partition follows from the key.

        Raises DeliveryFailed for a record that cannot be queued, or if an earlier one was refused.
        """
        produce = self._client.produce
        for value, key, timestamp_ms in zip(values, keys, timestamps_ms, strict=True):
            try:
                produce(topic, value, key, partition, timestamp=timestamp_ms)
            except BufferError:
                self._make_room(topic, value, key, partition, timestamp_ms)
            except KafkaException as error:
                raise self._refused(topic, error.args[0]) from error
        self.sent += len(values)
        self._client.poll(0)
        self._raise_failure()

    def finish(self) -> int:
        """Wait until everything is confirmed; returns how many records were. Raises DeliveryFailed."""
        waiting = self._client.flush(FLUSH_SECONDS)
        self._raise_failure()
        if waiting:
            raise DeliveryFailed(f"{self._address} did not confirm {waiting} of {self.sent} records in time")
        return self.sent - self.failed

    def _make_room(self, topic: str, value: bytes, key: bytes | None, partition: int, timestamp_ms: int) -> None:
        while True:
            self._client.poll(ROOM_POLL_SECONDS)
            self._raise_failure()
            try:
                self._client.produce(topic, value, key, partition, timestamp=timestamp_ms)
                return
            except BufferError:
                continue

    def _note_failure(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed += 1
            self._first_failure = self._first_failure or f"{message.topic()}: {error.str()}"

    def _raise_failure(self) -> None:
        if self.failed:
            raise DeliveryFailed(
                f"{self._address} did not take {self.failed} of {self.sent} records; the first: {self._first_failure}"
            )

    def _refused(self, topic: str, error: KafkaError) -> DeliveryFailed:
        return DeliveryFailed(f"a record could not be sent to {topic} at {self._address}: {error.str()}")
