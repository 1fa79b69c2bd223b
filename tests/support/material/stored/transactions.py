"""What a test writes to a world's topics, in transactions that are committed or aborted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

from app.base.kafka.clients import librdkafka_options
from app.domain.records import TopicPartition
from tests.support.machine.waiting import patient
from tests.support.material.stored.world import World

_numbers = itertools.count(1)


def new_producer(world: World) -> Producer:
    """A producer that no other fences."""
    transactional = {"transactional.id": f"{world.settings.app_id}-{next(_numbers)}"}
    producer = Producer({**librdkafka_options(world.settings.kafka), **transactional})
    producer.init_transactions(patient(30))
    return producer


@contextmanager
def transaction(producer: Producer, *, commit: bool = True) -> Iterator[None]:
    producer.begin_transaction()
    yield
    producer.flush()
    if commit:
        producer.commit_transaction(patient(30))
    else:
        producer.abort_transaction(patient(30))


def send(
    producer: Producer, at: TopicPartition, key: bytes, value: bytes | None, timestamp_ms: int | None = None
) -> list[int]:
    """The list gets the record's offset once it is delivered. Without a timestamp it is now; one below 1 is 1."""
    place: list[int] = []
    producer.produce(
        at.topic,
        value,
        key,
        at.partition,
        timestamp=0 if timestamp_ms is None else max(timestamp_ms, 1),
        on_delivery=lambda error, message: place.append(message.offset()),
    )
    return place
