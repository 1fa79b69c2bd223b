"""What a take-over leaves behind that the next rebalance breaks off."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from app.base.kafka.cluster import Cluster
from app.edge.http.rows.zone_names import no_names
from app.engine.drive.kafka import changelog_reader, held_topic
from app.engine.drive.kafka.changelog_reader import read_to_end
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.held_topic import HeldTopic


@pytest.fixture(params=[changelog_reader, held_topic])
def consumer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncMock:
    """One that is broken off while it looks for its cluster."""
    made = AsyncMock()
    made.start.side_effect = asyncio.CancelledError
    monkeypatch.setattr(request.param, "AIOKafkaConsumer", lambda **_: made)
    made.reads = {changelog_reader: _changelog, held_topic: _held}[request.param]
    return made


async def test_a_reader_that_is_broken_off_at_its_start_is_closed(consumer: AsyncMock) -> None:
    """aiokafka's own complaint, 'Unclosed AIOKafkaConsumer', was an ERROR with a traceback."""
    with pytest.raises(asyncio.CancelledError):
        await consumer.reads()
    consumer.stop.assert_awaited_once()


def _changelog() -> Any:
    return read_to_end({}, "changelog", {0: 0}, {0: 1}, lambda _: None)


def _held() -> Any:
    return HeldTopic(no_names(), Connections({}, Mock(spec=Cluster), Mock()))._follow()
