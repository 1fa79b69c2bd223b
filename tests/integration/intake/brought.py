"""What a request that brings rides is answered, and what is there behind it."""

from __future__ import annotations

from typing import Any

from aiohttp import ClientResponse
from confluent_kafka import KafkaError, Producer

from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.rides.ride import RIDES
from tests.support.machine.cluster import alter_topic
from tests.support.machine.waiting import patient, wait_for
from tests.support.truth import records_of

PATH, NARROW = "/v1/topics/rides.yellow/records", "rides.fhv"
PROBE = bytes(60_000)
"""Which a narrow topic does not take."""


def stored(settings: Settings) -> dict[tuple[str, int, int], object]:
    return {(one.topic, one.partition, one.offset): one.values["ride_id"] for one in records_of(settings, RIDES)}


async def problem(answer: ClientResponse) -> tuple[int, str, dict[str, Any]]:
    document = await answer.json()
    return answer.status, document["type"].rpartition(":")[2], document


def narrow(settings: Settings) -> None:
    """Lets a topic take records of 20 kB at most."""
    alter_topic(settings, NARROW, {"max.message.bytes": 20_000})
    wait_for(lambda: not _takes(settings, PROBE), "the broker has heard of it")


def _takes(settings: Settings, value: bytes) -> bool:
    errors: list[KafkaError | None] = []
    producer = Producer(librdkafka_options(settings.kafka))
    producer.produce(NARROW, value, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(patient(30)) == 0
    return all(error is None for error in errors)
