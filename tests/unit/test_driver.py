"""How long the driver waits for records, and for whom."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from faust.transport.drivers import aiokafka as stock
from faust.types import TP

from app.engine.drive.driver import FETCH_SECONDS, FETCH_SECONDS_HELD, ColumnarConsumer

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
