"""How the clients of aiokafka begin while a cluster tells of no broker, without one."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaConnectionError
from aiokafka.structs import BrokerMetadata
from aiokafka.util import create_future
from faust.transport.drivers import aiokafka as stock

from app.base.kafka.cluster import ClusterError
from app.engine.drive.faust_parts.driver import ColumnarConsumerThread
from app.engine.drive.kafka import prepared
from app.engine.drive.kafka.prepared import prepare
from app.engine.drive.transactions.writer import TaskWriter

NO_ANSWER = KafkaConnectionError("Unable to bootstrap from one:9092")
BROKER = BrokerMetadata(1, "one", 9092, None)


class Answers:
    """What a client is told when it begins, in turn: that there is a broker, or none, or nothing."""

    def __init__(self, *told: bool | Exception) -> None:
        self.told = list(told)

    def take(self, client: AIOKafkaClient) -> None:
        told = self.told.pop(0)
        if isinstance(told, Exception):
            raise told
        client.cluster._brokers = {1: BROKER} if told else {}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """No broker, no answer, a broker."""
    made = Answers(False, NO_ANSWER, True)

    async def bootstrap(self: AIOKafkaClient) -> None:
        made.take(self)

    monkeypatch.setattr(AIOKafkaClient, "bootstrap", bootstrap)
    monkeypatch.setattr(prepared, "ASK_AGAIN_SECONDS", 0)
    return made


async def test_a_client_that_is_told_of_no_broker_knows_nobody_to_ask_for_a_coordinator(answers: Answers) -> None:
    """So aiokafka is, which ends a worker that starts in this moment; hence all that follows."""
    client = AIOKafkaClient()
    await client.bootstrap()
    with pytest.raises(AssertionError, match="Did we not perform bootstrap"):
        await client.coordinator_lookup(0, "group")


async def test_a_cluster_that_tells_of_no_broker_is_asked_again(answers: Answers) -> None:
    """The first answer of a broker that was frozen for longer than its controller waits."""
    client = AIOKafkaClient()
    prepare(client)
    closed = asyncio.get_running_loop().create_future()
    closed.set_result(None)
    first = Mock(close=Mock(return_value=closed))
    client._conns = {("bootstrap", 0): first}
    await client.bootstrap()
    assert (answers.told, client.cluster.brokers(), client._conns) == ([], {BROKER}, {})
    first.close.assert_called()


async def test_a_cluster_that_stays_away_is_told_in_words(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "START_SECONDS", 0)
    for why in ("tells of no broker", "Unable to bootstrap from one:9092"):
        client = AIOKafkaClient()
        prepare(client)
        with pytest.raises(ClusterError, match=rf"^the cluster has no broker that answers \(.*{why}\): is it up\?"):
            await client.bootstrap()


async def test_who_waits_for_an_answer_is_told_that_its_connection_has_ended() -> None:
    """It has, and its reader has not seen it yet, when somebody else wants to send to that broker."""
    client = AIOKafkaClient()
    prepare(client)
    ended, waiting = AIOKafkaConnection("one", 9092, on_close=client._on_connection_closed), create_future()
    ended._reader, ended._writer, ended._read_task = asyncio.StreamReader(), Mock(), Mock()
    ended._requests.append((1, None, waiting))
    ended._reader.feed_eof()
    client._conns = {(1, ConnectionGroup.DEFAULT): ended}
    del ended
    assert not await client.ready(1)
    with pytest.raises(KafkaConnectionError, match="one:9092 closed"):
        await asyncio.wait_for(waiting, 0)


async def test_writers_of_tasks_demand_one(answers: Answers) -> None:
    producer = TaskWriter({}, "rides-0", "changelog", 3)._producer
    await producer.client.bootstrap()
    assert answers.told == []
    producer._closed = True


async def test_the_member_of_the_group_demands_one(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    made = AIOKafkaConsumer()
    monkeypatch.setattr(stock.AIOKafkaConsumerThread, "_create_worker_consumer", lambda *_: made)
    thread = object.__new__(ColumnarConsumerThread)
    settings = SimpleNamespace(fetch_min_bytes=1, fetch_max_wait_ms=1)
    thread.app = SimpleNamespace(worker_settings=settings)
    await thread._create_worker_consumer(None)._client.bootstrap()
    assert answers.told == []
    made._closed = True
