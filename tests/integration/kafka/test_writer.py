"""A task's writer against a real broker, by either protocol of transactions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka.errors import NodeNotReadyError, RequestTimedOutError
from aiokafka.protocol.transaction import EndTxnRequest

from app.base import names
from app.base.settings import Settings
from app.engine.core.batch import Output
from app.engine.drive.transactions.epoch_requests import AskedFeatures
from tests.support.tasks.writing import transaction_of, writer_of

pytestmark = pytest.mark.usefixtures("protocol")


async def test_each_transaction_has_an_epoch_of_its_own_where_the_cluster_gives_them(
    world: Settings, protocol: str
) -> None:
    task, epochs = writer_of(world), list[int]()
    try:
        await task.fence()
        for _ in range(3):
            await task.write(transaction_of(world, []))
            epochs.append(task._producer._txn_manager.producer_epoch)
    finally:
        await task.stop()
    step = int(protocol == "an epoch for each")
    assert [later - epochs[0] for later in epochs] == [0, step, 2 * step]


@pytest.mark.parametrize("protocol", ["an epoch for each"], indirect=True)
async def test_a_broker_that_goes_as_it_is_asked_what_the_cluster_has_is_asked_again(world: Settings) -> None:
    task, failures = writer_of(world), [RequestTimedOutError(), NodeNotReadyError()]
    ask = task._producer.client.send

    async def fail_at_first(node_id: int, request: Any, **others: Any) -> Any:
        if isinstance(request, AskedFeatures) and failures:
            raise failures.pop()
        return await ask(node_id, request, **others)

    task._producer.client.send = fail_at_first
    try:
        await task.fence()
        assert not failures
        assert await task.write(transaction_of(world, [])) == 1
        assert await task.write(transaction_of(world, [])) > 1
    finally:
        await task.stop()


async def test_a_commit_whose_answer_is_lost_is_asked_for_again(
    world: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker has done it by then, and given the next epoch to nobody."""
    task = writer_of(world)
    try:
        await task.fence()
        assert await task.write(transaction_of(world, [])) == 1
        client = task._producer.client
        ask, lost = client.send, list[object]()

        async def lose_the_first(node_id: int, request: Any, **others: Any) -> Any:
            answer = await ask(node_id, request, **others)
            if request.API_KEY == EndTxnRequest.API_KEY and not lost:
                lost.append(answer)
                raise RequestTimedOutError
            return answer

        with monkeypatch.context() as patch:
            patch.setattr(client, "send", lose_the_first)
            at = await task.write(transaction_of(world, []))
        assert len(lost) == 1
        assert await task.write(transaction_of(world, [])) > at
    finally:
        await task.stop()


async def test_a_writer_keeps_hearing_of_the_topics_it_writes_to(
    world: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker goes before the first transaction: aiokafka then hears of all topics, and asks for one meanwhile. From
    the next time on it hears of that one only; a batch for another has no leader any more, and fails after 40 s."""
    late, task = names.late_topic(world.app_id), writer_of(world)
    try:
        await task.fence()
        client, asked = task._producer.client, asyncio.Event()
        with monkeypatch.context() as patch:
            ask = client._metadata_update

            async def tell(*which: Any) -> bool:
                asked.set()
                return await ask(*which)

            patch.setattr(client, "_metadata_update", tell)
            all_told = client.force_metadata_update()
            await asked.wait()
            await task.write(transaction_of(world, []))
            assert await all_told
        await task.write(transaction_of(world, [Output(late, b"key", b"late", partition=0)]))
        assert await client.force_metadata_update()
        assert client.cluster.partitions_for_topic(late)
    finally:
        await task.stop()
