"""How clients close whose broker does not answer yet, over TLS: with either event loop, at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop
from aiokafka import AIOKafkaConsumer
from aiokafka.conn import AIOKafkaConnection
from aiokafka.structs import TopicPartition

from app.base.kafka.clients import aiokafka_options
from app.engine.drive.kafka.prepared import prepare
from app.rides.ride import RIDES
from tests.support.clusters.users import Users

NEVER_MS = 10 * 60 * 1000
"""A fetch waits so long at its broker, which hears nothing else of its client meanwhile."""
LESS_THAN_TLS_WAITS_SECONDS = 20.0
"""Both event loops give a broker's farewell 30 s."""


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_client_closes_while_its_fetch_waits_at_the_broker(
    users: Users, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    client = aiokafka_options(users.brokers.settings.kafka)
    place = TopicPartition(RIDES.topics[0].name, 0)

    async def fetch_and_close() -> None:
        consumer = AIOKafkaConsumer(
            **client,
            group_id=None,
            enable_auto_commit=False,
            fetch_max_wait_ms=NEVER_MS,
            fetch_min_bytes=1_000_000_000,
            request_timeout_ms=2 * NEVER_MS,
        )
        prepare(consumer._client)
        await consumer.start()
        consumer.assign([place])
        while not any(waits_for_records(connection) for connection in consumer._client._conns.values()):
            await consumer.getmany(timeout_ms=50)
        async with asyncio.timeout(LESS_THAN_TLS_WAITS_SECONDS):
            await consumer.stop()

    def waits_for_records(connection: AIOKafkaConnection) -> bool:
        return any("Fetch" in type(request).__name__ for _, request, _ in connection._requests)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(fetch_and_close())
