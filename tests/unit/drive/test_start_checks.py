"""What a worker asks before it joins its group, of a broker that is silent for a while."""

from __future__ import annotations

import logging
from unittest.mock import Mock

import pytest

from app.base.errors import KafkaUnavailable, TopicsMissing
from app.engine.drive import start_checks
from app.engine.drive.start_checks import require

SILENT = KafkaUnavailable("no broker answers at one:9092")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_checks, "ASK_AGAIN_SECONDS", 0)


async def test_a_silent_broker_is_told_once_and_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    """One that was frozen for 15 s ended every worker that began meanwhile: the first answer has 10 s."""
    check = Mock(side_effect=[SILENT, SILENT, None])
    with caplog.at_level(logging.WARNING):
        await require(check)
    assert check.call_count == 3
    assert caplog.messages == ["no broker answers at one:9092; asking again, for half a minute in all"]


async def test_one_that_stays_silent_ends_the_worker_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_checks, "PATIENCE_SECONDS", 0)
    with pytest.raises(KafkaUnavailable, match=r"^no broker answers at one:9092$"):
        await require(Mock(side_effect=SILENT))


async def test_what_waiting_does_not_mend_is_told_at_once() -> None:
    check = Mock(side_effect=TopicsMissing("rides.yellow"))
    with pytest.raises(TopicsMissing):
        await require(check)
    assert check.call_count == 1
