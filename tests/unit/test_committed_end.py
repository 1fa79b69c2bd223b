"""Where a log ends, while its leader is being made."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from app.base import committed
from app.base.committed import LogRefused


class Broker:
    """Answers what it is told to answer, one after the other."""

    def __init__(self, *answers: tuple[int, int] | int) -> None:
        self.answers = list(answers)

    def get_watermark_offsets(self, *_: Any, **__: Any) -> tuple[int, int]:
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            raise KafkaException(KafkaError(answer))
        return answer


def test_a_broker_that_does_not_lead_yet_is_asked_again() -> None:
    broker = Broker(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, (0, 5))
    assert committed._end(broker, "rides", 0) == 5  # type: ignore[arg-type]


def test_no_right_to_read_is_told_at_once() -> None:
    with pytest.raises(LogRefused, match=r"rides-0: .*[Aa]uthorization"):
        committed._end(Broker(KafkaError.TOPIC_AUTHORIZATION_FAILED), "rides", 0)  # type: ignore[arg-type]


def test_a_log_that_finds_no_leader_is_refused_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed, "READ_TIMEOUT_SECONDS", 0)
    with pytest.raises(LogRefused, match="rides-0"):
        committed._end(Broker(*[KafkaError.NOT_LEADER_FOR_PARTITION] * 9), "rides", 0)  # type: ignore[arg-type]
