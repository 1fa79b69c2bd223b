"""A task's writer that has lost its task, by either protocol of transactions: it says so, however far it had come."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.errors import ConcurrentTransactions, UnknownError
from aiokafka.producer import sender
from aiokafka.producer.transaction_manager import PidAndEpoch
from aiokafka.protocol.transaction import InitProducerIdRequest

from app.base import names
from app.base.settings import Settings
from app.engine.core.batch import Output, Transaction
from app.engine.drive.transactions.writer import Fenced, SentBatch, TaskWriter
from tests.support.tasks.writing import complaints, transaction_of, writer_of

pytestmark = pytest.mark.usefixtures("protocol")


@pytest.mark.parametrize("late_records", [0, 60_000])
async def test_a_fenced_writer_says_so_whatever_it_was_about_to_send(world: Settings, late_records: int) -> None:
    """Many outputs are sent in steps: the refusal of the first comes while the others are being put together."""
    late = names.late_topic(world.app_id)
    transaction = transaction_of(
        world, [Output(late, b"%d" % n, b"late", partition=n % 4) for n in range(late_records)]
    )
    former, present = (writer_of(world) for _ in range(2))
    with complaints() as said:
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
    assert said == []


@pytest.mark.parametrize("protocol", ["one epoch"], indirect=True)
async def test_a_fenced_writer_says_so_though_none_of_its_batches_was_told(world: Settings) -> None:
    """aiokafka ends a transaction first, by its request to add partitions to it, and tells its batches a turn of the
    event loop later."""
    former, present = writer_of(world, _Ended), writer_of(world)
    with complaints() as said:
        try:
            await former.fence()
            await present.fence()
            with pytest.raises(Fenced):
                await former.write(transaction_of(world, []))
        finally:
            await asyncio.gather(former.stop(), present.stop())
        del former
    assert said == []


async def test_a_writer_whose_transaction_is_aborted_in_the_moment_of_its_commit_has_lost_the_task(
    world: Settings,
) -> None:
    """By whoever fences it and has not been given the task yet: the coordinator still takes its commit for one that is
    asked for again, and says that the transaction's state is another."""
    former, present = writer_of(world, _Aborted), writer_of(world)
    with complaints() as said:
        try:
            await former.fence()
            with pytest.raises(Fenced):
                await former.write(transaction_of(world, []))
            await present.fence()
            assert await present.write(transaction_of(world, [])) > 1
        finally:
            await asyncio.gather(former.stop(), present.stop())
        del former
    assert said == []


async def test_a_writer_whose_id_the_brokers_have_given_up_has_lost_the_task(world: Settings) -> None:
    """As they do with one that was not used for a week; taken again, it has another producer id."""
    former, present = (writer_of(world) for _ in range(2))
    with complaints() as said:
        try:
            await former.fence()
            assert await former.write(transaction_of(world, [])) == 1
            former._producer._txn_manager._pid_and_epoch = PidAndEpoch(2**40, 0)
            with pytest.raises(Fenced):
                await former.write(transaction_of(world, []))
            await present.fence()
            assert await present.write(transaction_of(world, [])) > 1
        finally:
            await asyncio.gather(former.stop(), present.stop())
        del former
    assert said == []


async def test_a_writer_that_is_not_told_what_became_of_its_transaction_has_lost_the_task(
    world: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Kafka's coordinator answers where somebody fences the task in the moment of its commit: its next owner, who
    may be this worker, finds in the log what there is."""
    former, present = (writer_of(world) for _ in range(2))
    with complaints() as said:
        try:
            await former.fence()
            assert await former.write(transaction_of(world, [])) == 1
            with monkeypatch.context() as patch:
                patch.setattr(sender.EndTxnHandler, "handle_response", _fails)
                with pytest.raises(Fenced, match="does not say what became of a transaction"):
                    await former.write(transaction_of(world, []))
            await present.fence()
            assert await present.write(transaction_of(world, [])) > 1
        finally:
            await asyncio.gather(former.stop(), present.stop())
        del former
    assert said == []


def _fails(*_: object) -> None:
    raise UnknownError


class _Ended(TaskWriter):
    """Its transaction is ended from outside between two batches: here, before the first."""

    async def _send_changelog(self, transaction: Transaction) -> list[SentBatch]:
        known = self._producer._txn_manager
        known.maybe_add_partition_to_txn(TopicPartition(self._changelog, self._partition))
        while known.is_in_transaction():
            await asyncio.sleep(0)
        return await super()._send_changelog(transaction)


class _Aborted(TaskWriter):
    """Somebody asks for its id, once, when all of its transaction has been sent."""

    async def _send_changelog(self, transaction: Transaction) -> list[SentBatch]:
        self._producer.commit_transaction = self._commit
        return await super()._send_changelog(transaction)

    async def _commit(self) -> None:
        known, client = self._producer._txn_manager, self._producer.client
        at = await self._producer._sender._find_coordinator(CoordinationType.TRANSACTION, known.transactional_id)
        told = await client.send(
            at, InitProducerIdRequest(known.transactional_id, 60_000), group=ConnectionGroup.COORDINATION
        )
        assert told.error_code == ConcurrentTransactions.errno
        await AIOKafkaProducer.commit_transaction(self._producer)
