"""Reading that comes to no end: broken off by the next rebalance, or in a log that is another one meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest
from aiokafka.errors import OffsetOutOfRangeError
from aiokafka.structs import TopicPartition

from app.base.kafka.cluster import Cluster
from app.domain.errors import StateError
from app.edge.http.zone_names import no_names
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


async def test_a_log_that_was_made_anew_while_it_is_read_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was aiokafka's traceback, without a word of what that means."""
    consumer = AsyncMock(assign=Mock(), seek=Mock(), _fetcher=MagicMock())
    gone = OffsetOutOfRangeError({TopicPartition("changelog", 2): 41})
    monkeypatch.setattr(changelog_reader, "AIOKafkaConsumer", lambda **_: consumer)
    monkeypatch.setattr(changelog_reader, "next_fetch", AsyncMock(side_effect=gone))
    with pytest.raises(StateError, match=r"^changelog-2, offset 41: .* created anew, or cut\. .* started again says"):
        await read_to_end({}, "changelog", {2: 41}, {2: 50}, lambda _: None)
    consumer.stop.assert_awaited_once()


def _changelog() -> Any:
    return read_to_end({}, "changelog", {0: 0}, {0: 1}, lambda _: None)


def _held() -> Any:
    return HeldTopic(no_names(), Connections({}, Mock(spec=Cluster), Mock()))._follow()
