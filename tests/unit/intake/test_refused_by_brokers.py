"""What a broker refuses for good is told to whoever sent it; what nobody asked to be committed is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from threading import Event
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from app.edge.intake import lane as lane_module
from app.edge.intake.failures import BrokerRefuses, NotConfirmed, NotWritten
from app.edge.intake.lane import Lane
from app.edge.intake.memory import Memory
from app.edge.intake.wanted import Keyed, Reply, Wanted
from app.topics import REMEMBERED_MS
from tests.support.machine.waiting import patient

LARGE = b"large"
FENCED = KafkaError(KafkaError._FENCED, "fenced by a newer instance", fatal=True)
Report = Callable[[KafkaError | None, Any], None]
Together = Callable[..., list[Future[Reply]]]


class Stored:
    """Where a record came to stand."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset


class FakeProducer:
    """Takes values but those in `refused`, behind which nothing more is taken until the transaction is aborted. As a
    real one it numbers those, too: what it writes next is refused once, as one is missing."""

    def __init__(self, refused: dict[bytes, KafkaError]) -> None:
        self.refused, self.fenced_at = refused, ""
        self.log: list[bytes] = []
        self.open: list[bytes] = []
        self.transactions = 0
        self._reports: list[tuple[Report, KafkaError | None, Stored]] = []
        self._is_broken = self._is_out_of_step = False

    def init_transactions(self, seconds: float) -> None:
        pass

    def begin_transaction(self) -> None:
        self.open, self._is_broken = [], False
        self.transactions += 1

    def produce(self, topic: str, value: bytes, key: Any, *at: int, on_delivery: Report | None = None) -> None:
        if self._is_broken:
            raise KafkaException(KafkaError(KafkaError._STATE))
        error = FENCED if self.fenced_at == "produce" else self.refused.get(value)
        if error is None and self._is_out_of_step:
            error, self._is_out_of_step = KafkaError(KafkaError._PURGE_QUEUE), False
        elif error is not None:
            self._is_out_of_step = True
        self._is_broken = error is not None
        if on_delivery is not None:
            self._reports.append((on_delivery, error, Stored(len(self.log) + len(self.open))))
            self.open.append(value)

    def poll(self, seconds: float) -> None:
        pass

    def flush(self, seconds: float) -> int:
        reports, self._reports = self._reports, []
        for on_delivery, error, stored in reports:
            on_delivery(error, stored)
        return 0

    def abort_transaction(self, seconds: float) -> None:
        if self.fenced_at:
            raise KafkaException(FENCED)
        self.open = []

    def commit_transaction(self, seconds: float) -> None:
        if self.fenced_at == "commit":
            raise KafkaException(FENCED)
        self.log += self.open


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> FakeProducer:
    producer = FakeProducer({LARGE: KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "Broker: Message size too large")})
    monkeypatch.setattr(lane_module, "Producer", lambda options: producer)
    return producer


@pytest.fixture
def together(producer: FakeProducer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Together]:
    """What becomes of requests of one record each, which wait until their lane is open."""
    opened = Event()
    monkeypatch.setattr(lane_module, "committed", lambda *_: iter([opened.wait(patient(30))][1:]))
    lane = Lane({}, "cabs", 1, Memory(REMEMBERED_MS, 1_000_000))

    def together(*values: bytes, keyed: bool = False) -> list[Future[Reply]]:
        keys = [value.decode() if keyed else None for value in values]
        records = [[Keyed(b"1", value)] for value in values]
        asked = [lane.write(Wanted("rides.fhv", *of, "d")) for of in zip(records, keys, strict=True)]
        opened.set()
        wait(asked, patient(30))
        return asked

    yield together
    lane.end()


@pytest.mark.parametrize("keyed", [False, True])
def test_who_brought_what_a_broker_refuses_is_told_and_the_others_are_written_once(
    producer: FakeProducer, together: Together, keyed: bool
) -> None:
    first, large, last = together(b"a", LARGE, b"b", keyed=keyed)
    with pytest.raises(BrokerRefuses, match=r"rides\.fhv: .*max\.message\.bytes lets in.*Message size too large"):
        large.result()
    places = {one: place.offset for answer, one in ((first, b"a"), (last, b"b")) for place in answer.result().outcomes}
    assert places == {one: producer.log.index(one) for one in (b"a", b"b")}
    assert sorted(producer.log) == [b"a", b"b"]
    (next_one,) = together(b"c", keyed=keyed)
    assert producer.log[next_one.result().outcomes[0].offset] == b"c"


def test_of_several_that_are_refused_each_is_told_its_own_reason(producer: FakeProducer, together: Together) -> None:
    producer.refused[b"odd"] = KafkaError(KafkaError.INVALID_RECORD, "Broker: Broker failed to validate record")
    large, odd, good = together(LARGE, b"odd", b"a")
    assert "max.message.bytes" in str(large.exception())
    assert "holds it for invalid" in str(odd.exception())
    assert producer.log == [b"a"]
    assert len(good.result().outcomes) == 1


def test_what_may_pass_is_no_refusal_and_nothing_was_written(producer: FakeProducer, together: Together) -> None:
    producer.refused[b"slow"] = KafkaError(KafkaError._MSG_TIMED_OUT, "Local: Message timed out")
    told = together(b"a", b"slow", b"b")
    assert [type(one.exception()) for one in told] == [NotWritten] * 3
    assert producer.log == []


def test_a_lane_that_was_lost_before_a_commit_has_written_nothing(producer: FakeProducer, together: Together) -> None:
    producer.fenced_at = "produce"
    told = together(b"a", b"b")
    assert [type(one.exception()) for one in told] == [NotWritten] * 2
    assert "fenced by a newer instance" in str(told[0].exception())


def test_a_lane_that_was_lost_in_a_commit_knows_of_the_others_alone_that_they_are_not_there(
    producer: FakeProducer, together: Together
) -> None:
    producer.fenced_at = "commit"
    first, again, other = together(b"a", b"a", b"b", keyed=True)  # a key that comes again waits for the next one
    assert [type(one.exception()) for one in (first, again, other)] == [NotConfirmed, NotWritten, NotConfirmed]
