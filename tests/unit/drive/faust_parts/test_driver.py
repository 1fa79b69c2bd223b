"""How long the driver waits for records, and for whom."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from aiokafka.errors import RequestTimedOutError, UnknownTopicOrPartitionError
from faust.transport.drivers import aiokafka as stock
from faust.types import TP

from app.engine.drive.faust_parts.driver import (
    FETCH_SECONDS,
    FETCH_SECONDS_HELD,
    ColumnarConsumer,
    ColumnarConsumerThread,
    passing_gone,
)

FENCED, KEPT = TP("rides.yellow", 0), TP("rides.yellow", 1)


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> ColumnarConsumer:
    """One whose fetches give the seconds that they were allowed to wait; it has no thread and no cluster."""

    async def nothing(*_: Any) -> None: ...

    async def waited(_: Any, __: Any, timeout: float) -> float:
        return timeout

    monkeypatch.setattr(stock.Consumer, "on_partitions_revoked", nothing)
    monkeypatch.setattr(stock.Consumer, "_getmany", waited)
    made = object.__new__(ColumnarConsumer)
    made.app = SimpleNamespace(groups=SimpleNamespace(quiesce=nothing), in_recovery=False)
    made.commit = nothing
    made._active_partitions, made._buffered_partitions = {FENCED, KEPT}, set()
    return made


def test_a_partition_that_was_taken_away_holds_nothing_back(consumer: ColumnarConsumer) -> None:
    """Its task was fenced with enough to do, and so never drained it: every call would return after 5 ms for good."""

    async def waits() -> list[float]:
        seconds = [await consumer._getmany(set(), 1.0)]
        consumer.on_buffer_full(FENCED)
        seconds.append(await consumer._getmany(set(), 1.0))
        await consumer.on_partitions_revoked({FENCED, KEPT})
        seconds.append(await consumer._getmany(set(), 1.0))
        return seconds

    assert asyncio.run(waits()) == [FETCH_SECONDS, FETCH_SECONDS_HELD, FETCH_SECONDS]


def test_no_stream_is_told_to_be_slow_by_the_time_since_the_start(consumer: ColumnarConsumer) -> None:
    """Seen after a broker that froze: a page of ERROR for each topic-partition, though all were read to their ends."""
    asked: list[TP] = []
    consumer._thread = SimpleNamespace(verify_event_path=lambda now, tp: asked.append(tp))
    consumer.verify_event_path(1e9, KEPT)
    assert not asked


async def test_a_consumer_that_crashed_does_not_ask_its_ending_thread_to_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the thread was the quicker one to end, mode's traceback buried what the worker had crashed of."""
    commits: list[bool] = []

    async def commit(self: Any, start_new_transaction: bool) -> None:
        commits.append(start_new_transaction)

    monkeypatch.setattr(stock.Consumer, "commit", commit)
    stopped, crashed = _consumer_crashed(False), _consumer_crashed(True)
    await crashed.on_stop()
    assert commits == []
    await stopped.on_stop()
    assert commits == [False]


async def test_offsets_of_a_topic_that_is_gone_are_committed_once_and_other_troubles_are_told() -> None:
    commit = AsyncMock(side_effect=[UnknownTopicOrPartitionError(), None, RequestTimedOutError()])
    committing = passing_gone(commit)
    await committing("assignment", {FENCED: 1})
    await committing("assignment", {FENCED: 2})
    with pytest.raises(RequestTimedOutError):
        await committing("assignment", {FENCED: 3})
    assert commit.await_count == 3


def test_a_thread_that_has_ended_is_not_told_to_stop() -> None:
    thread = object.__new__(ColumnarConsumerThread)
    thread.thread_loop, thread._stopped = asyncio.new_event_loop(), asyncio.Event()
    thread.thread_loop.close()
    thread._stopped_set()


def _consumer_crashed(crashed: bool) -> ColumnarConsumer:
    made = object.__new__(ColumnarConsumer)
    made.app = SimpleNamespace(conf=SimpleNamespace(stream_wait_empty=False))
    made.transport = SimpleNamespace(_topic_waiters={})
    made._crashed = asyncio.Event()
    if crashed:
        made._crashed.set()
    return made
