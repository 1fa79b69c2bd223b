"""Where a log ends and what is in it, while its leader is being made or its broker wakes."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from app.base.kafka import committed
from app.base.kafka.committed import LogRefused, LogSilent
from app.base.kafka.passing import ASK_FOR_RIGHTS, refusal_in_words


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
    broker = Broker(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.FENCED_LEADER_EPOCH, (0, 5))
    assert committed._end(broker, "rides", 0) == 5  # type: ignore[arg-type]


def test_no_right_to_read_is_told_at_once() -> None:
    with pytest.raises(LogRefused, match=r"rides-0: .*[Aa]uthorization"):
        committed._end(Broker(KafkaError.TOPIC_AUTHORIZATION_FAILED), "rides", 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", [KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED])
def test_a_refusal_that_comes_among_the_records_says_where_to_ask(code: int) -> None:
    with pytest.raises(LogRefused) as refused:
        committed._is_end(Told(code), "windows.zone_demand-0", 5)  # type: ignore[arg-type]
    told = refusal_in_words(refused.value)
    assert told is not None
    assert told.startswith("windows.zone_demand-0: ")
    assert ASK_FOR_RIGHTS in told


def test_a_log_that_finds_no_leader_is_silent_and_may_be_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed, "READ_TIMEOUT_SECONDS", 0)
    with pytest.raises(LogSilent, match=r"rides-0: .*; run it again"):
        committed._end(Broker(*[KafkaError.NOT_LEADER_FOR_PARTITION] * 9), "rides", 0)  # type: ignore[arg-type]


class Messages:
    """Gives one message after the other: a text, or an error's code; nothing when they are used up."""

    def __init__(self, *messages: str | int) -> None:
        self.left = [Told(one) for one in messages]

    def poll(self, _: float) -> Told | None:
        return self.left.pop(0) if self.left else None

    def consume(self, count: int, timeout: float) -> list[Told]:
        took, self.left = self.left[:2], self.left[2:]
        return took


class Told:
    def __init__(self, what: str | int) -> None:
        self.what = what
        self._error = KafkaError(what) if isinstance(what, int) else None

    def error(self) -> KafkaError | None:
        return self._error


FENCED, REFUSED = KafkaError.FENCED_LEADER_EPOCH, KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("there", "given"),
    [
        (("a", "b", "c"), ["a", "b", "c"]),
        ((FENCED, "a", "b"), ["a", "b"]),
        ((FENCED, FENCED, FENCED, "a"), ["a"]),
        (("a", FENCED, "b"), ["a", "b"]),
        ((FENCED, REFUSED), [REFUSED]),
    ],
)
def test_what_passes_is_waited_out_and_what_does_not_is_given(
    there: tuple[str | int, ...], given: list[str | int]
) -> None:
    assert [told.what for told in committed._next(Messages(*there), "rides-0")] == given  # type: ignore


@pytest.mark.parametrize(("there", "why"), [((), "nothing came"), ((FENCED, FENCED), "Leader epoch is older")])
def test_a_log_that_gives_no_record_says_why(there: tuple[int, ...], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed, "READ_TIMEOUT_SECONDS", 0.01)
    with pytest.raises(LogSilent, match=f"rides-0: .*{why}.*, for 0 s; run it again"):
        committed._next(Messages(*there), "rides-0")  # type: ignore[arg-type]
