"""A task's writer against a real broker, by either protocol of transactions: whoever was fenced is told so, however far
it had come."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import NodeNotReadyError, RequestTimedOutError, UnknownError
from aiokafka.producer import sender
from aiokafka.protocol.transaction import EndTxnRequest

from app.base import names
from app.base.kafka.clients import aiokafka_options
from app.base.settings import Settings
from app.domain.marker import Marker
from app.engine.core.batch import Changes, Output, Transaction
from app.engine.drive.transactions import writer
from app.engine.drive.transactions.epoch_requests import AskedFeatures
from app.engine.drive.transactions.writer import Fenced, SentBatch, TaskWriter
from app.rides.ride import RIDES


@pytest.fixture(params=["an epoch for each", "one epoch"], autouse=True)
def protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The broker has both."""
    if request.param == "one epoch":
        monkeypatch.setattr(writer, "end_with_epochs", _as_aiokafka_does)
    return str(request.param)


async def test_each_transaction_has_an_epoch_of_its_own_where_the_cluster_gives_them(
    world: Settings, protocol: str
) -> None:
    task, epochs = _writer(world), list[int]()
    try:
        await task.fence()
        for _ in range(3):
            await task.write(_transaction(world, []))
            epochs.append(task._producer._txn_manager.producer_epoch)
    finally:
        await task.stop()
    step = int(protocol == "an epoch for each")
    assert [later - epochs[0] for later in epochs] == [0, step, 2 * step]


@pytest.mark.parametrize("protocol", ["an epoch for each"], indirect=True)
async def test_a_broker_that_goes_as_it_is_asked_what_the_cluster_has_is_asked_again(world: Settings) -> None:
    task, failures = _writer(world), [RequestTimedOutError(), NodeNotReadyError()]
    ask = task._producer.client.send

    async def fail_at_first(node_id: int, request: Any, **others: Any) -> Any:
        if isinstance(request, AskedFeatures) and failures:
            raise failures.pop()
        return await ask(node_id, request, **others)

    task._producer.client.send = fail_at_first
    try:
        await task.fence()
        assert not failures
        assert await task.write(_transaction(world, [])) == 1
        assert await task.write(_transaction(world, [])) > 1
    finally:
        await task.stop()


async def test_a_commit_whose_answer_is_lost_is_asked_for_again(
    world: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker has done it by then, and given the next epoch to nobody."""
    task = _writer(world)
    try:
        await task.fence()
        assert await task.write(_transaction(world, [])) == 1
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
            at = await task.write(_transaction(world, []))
        assert len(lost) == 1
        assert await task.write(_transaction(world, [])) > at
    finally:
        await task.stop()


@pytest.mark.parametrize("late_records", [0, 60_000])
async def test_a_fenced_writer_says_so_whatever_it_was_about_to_send(world: Settings, late_records: int) -> None:
    """Many outputs are sent in steps: the refusal of the first comes while the others are being put together."""
    late = names.late_topic(world.app_id)
    transaction = _transaction(world, [Output(late, b"%d" % n, b"late", partition=n % 4) for n in range(late_records)])
    former, present = (_writer(world) for _ in range(2))
    with _complaints() as complaints:
        try:
            await former.fence()
            assert await former.write(transaction) == 1
            await present.fence()
            with pytest.raises(Fenced):
                await former.write(transaction)
            assert await present.write(transaction) > 1
        finally:
            await asyncio.gather(former.stop(), present.stop())
        del former
    assert complaints == []


@pytest.mark.parametrize("protocol", ["one epoch"], indirect=True)
async def test_a_fenced_writer_says_so_though_none_of_its_batches_was_told(world: Settings) -> None:
    """aiokafka ends a transaction first, by its request to add partitions to it, and tells its batches a turn of the
    event loop later."""
    former, present = _writer(world, _Ended), _writer(world)
    with _complaints() as complaints:
        try:
            await former.fence()
            await present.fence()
            with pytest.raises(Fenced):
                await former.write(_transaction(world, []))
        finally:
            await asyncio.gather(former.stop(), present.stop())
        del former
    assert complaints == []


async def test_a_writer_that_is_not_told_what_became_of_its_transaction_has_lost_the_task(
    world: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Kafka's coordinator answers where somebody fences the task in the moment of its commit: its next owner, who
    may be this worker, finds in the log what there is."""
    former, present = (_writer(world) for _ in range(2))
    with _complaints() as complaints:
        try:
            await former.fence()
            assert await former.write(_transaction(world, [])) == 1
            with monkeypatch.context() as patch:
                patch.setattr(sender.EndTxnHandler, "handle_response", _fails)
                with pytest.raises(Fenced, match="does not say what became of a transaction"):
                    await former.write(_transaction(world, []))
            await present.fence()
            assert await present.write(_transaction(world, [])) > 1
        finally:
            await asyncio.gather(former.stop(), present.stop())
        del former
    assert complaints == []


async def test_a_writer_keeps_hearing_of_the_topics_it_writes_to(
    world: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker goes before the first transaction: aiokafka then hears of all topics, and asks for one meanwhile. From
    the next time on it hears of that one only; a batch for another has no leader any more, and fails after 40 s."""
    late, task = names.late_topic(world.app_id), _writer(world)
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
            await task.write(_transaction(world, []))
            assert await all_told
        await task.write(_transaction(world, [Output(late, b"key", b"late", partition=0)]))
        assert await client.force_metadata_update()
        assert client.cluster.partitions_for_topic(late)
    finally:
        await task.stop()


async def _as_aiokafka_does(_: object) -> bool:
    return False


def _fails(*_: object) -> None:
    raise UnknownError


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """What the event loop logs as an error that nobody asked for, once what is gone has been collected."""
    loop, said = asyncio.get_running_loop(), list[str]()
    loop.set_exception_handler(lambda _, context: said.append(f"{context['message']}: {context.get('exception')!r}"))
    try:
        yield said
        gc.collect()
    finally:
        loop.set_exception_handler(None)


def _transaction(world: Settings, outputs: list[Output]) -> Transaction:
    marker = Marker(world.app_id, RIDES.number, 0, 0, {}, {})
    return Transaction(marker, Changes.of([(b"key", b"value"), (b"marker", b"{}")]), outputs, [])


def _writer(world: Settings, kind: type[TaskWriter] = TaskWriter) -> TaskWriter:
    """One of the same task each time: who fences last is its owner."""
    changelog = names.changelog_topic(world.app_id, RIDES.name)
    return kind(aiokafka_options(world.kafka), f"{world.app_id}-task", changelog, 0)


class _Ended(TaskWriter):
    """Its transaction is ended from outside between two batches: here, before the first."""

    async def _send_changelog(self, transaction: Transaction) -> list[SentBatch]:
        known = self._producer._txn_manager
        known.maybe_add_partition_to_txn(TopicPartition(self._changelog, self._partition))
        while known.is_in_transaction():
            await asyncio.sleep(0)
        return await super()._send_changelog(transaction)
