"""Transactions of Kafka 4 (KIP-890), which aiokafka does not have: a partition joins one by what is produced to it, and
each ends with a new epoch for the next.

It spares a request to the coordinator in each transaction, and a batch that comes late gets into none but its own
(`docs/decisions/0048`).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from aiokafka import TopicPartition
from aiokafka.client import CoordinationType
from aiokafka.errors import (
    ConcurrentTransactions,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    KafkaError,
    NotEnoughReplicasError,
)
from aiokafka.producer.sender import EndTxnHandler, SendProduceReqHandler
from aiokafka.producer.transaction_manager import PidAndEpoch
from aiokafka.protocol.produce import ProduceResponse_v5
from aiokafka.protocol.transaction import EndTxnResponse_v0

from app.base.kafka.cluster import ASK_AGAIN_SECONDS
from app.engine.drive.transactions.epoch_requests import AskedFeatures, EpochEnd, JoiningProduce

FEATURE, LEVEL = "transaction.version", 2
_LOST = (InvalidTxnState.errno, InvalidProducerIdMapping.errno, 90, 120)
"""Answers by which the transaction is lost, maybe the task: it was aborted by whoever is about to fence the task, the
task's id has another producer id or none (a week unused), PRODUCER_FENCED, TRANSACTION_ABORTABLE."""


async def end_with_epochs(producer: Any) -> bool:
    """From its next transaction on a started producer does so, if its cluster does; whether it does."""
    if not await _are_there(producer.client):
        return False
    sender, manager = producer._sender, producer._txn_manager
    joined, one_joins = set[TopicPartition](), asyncio.Lock()

    def add(place: TopicPartition) -> None:
        assert manager.is_in_transaction()
        manager._txn_partitions.add(place)

    async def send(node_id: int, batches: dict[TopicPartition, Any]) -> None:
        if joined.issuperset(batches):
            await _Joining(sender, batches).do(node_id)
        else:
            async with one_joins:  # of two brokers that tell the coordinator at once it bids one to wait for 20 ms
                await _Joining(sender, batches).do(node_id)
            joined.update(batches)
        sender._in_flight.remove(node_id)
        sender._muted_partitions.difference_update(batches)

    async def end(result: int) -> None:
        await producer._message_accumulator.flush_for_commit()
        joined.clear()
        if manager.is_empty_transaction():
            manager.complete_transaction()
            return
        node_id = await sender._find_coordinator(CoordinationType.TRANSACTION, manager.transactional_id)
        await _Ending(sender, result).do(node_id)

    manager.maybe_add_partition_to_txn = add
    sender._send_produce_req, sender._do_txn_commit = send, end
    return True


async def _are_there(client: Any) -> bool:
    while True:
        try:
            told = await client.send(client.get_random_node(), AskedFeatures())
            return bool(told.levels().get(FEATURE, 0) >= LEVEL)
        except NotImplementedError:  # aiokafka's word for a broker that is too old for the question
            return False
        except KafkaError:
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            await client.force_metadata_update()


class _Joining(SendProduceReqHandler):
    def create_request(self) -> JoiningProduce:
        topics = defaultdict[str, list[tuple[int, bytearray]]](list)
        for place, batch in self._batches.items():
            topics[place.topic].append((place.partition, batch.get_data_buffer()))
        sender = self._sender
        return JoiningProduce(sender._txn_manager.transactional_id, sender._request_timeout_ms, topics)

    def handle_response(self, response: Any) -> None:
        topics = [
            (topic, [(place, _in_produce(code), *told[:3]) for place, code, *told in places])
            for topic, places, _ in response.topics
        ]
        super().handle_response(ProduceResponse_v5(topics, response.throttle_time_ms))


class _Ending(EndTxnHandler):
    def create_request(self) -> EpochEnd:
        manager = self._sender._txn_manager
        known = manager.transactional_id, manager.producer_id, manager.producer_epoch
        return EpochEnd(*known, self._commit_result)

    def handle_response(self, resp: Any) -> float | None:
        if resp.error_code == 0:
            manager = self._sender._txn_manager
            manager._pid_and_epoch = PidAndEpoch(resp.producer_id, resp.producer_epoch)
            manager._sequence_numbers.clear()  # they begin anew with each epoch
        told: float | None = super().handle_response(EndTxnResponse_v0(resp.throttle_time_ms, _known(resp.error_code)))
        return told


def _known(code: int) -> int:
    return InvalidProducerEpoch.errno if code in _LOST else code


def _in_produce(code: int) -> int:
    """The coordinator is not done with the transaction before: to be sent again, which aiokafka does for this one."""
    return NotEnoughReplicasError.errno if code == ConcurrentTransactions.errno else _known(code)
