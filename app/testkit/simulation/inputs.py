"""What is sent into a simulated cluster, and what it truly says: the truth that no worker is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from app.codecs.stored.advance_requests import encode_request
from app.domain.advance import AdvanceRequest
from app.domain.corrections.correction import Correction
from app.domain.fingerprint import MAX_OFFSET
from app.domain.records import TopicPartition
from app.domain.rows import Cells, RowKey
from app.testkit.cluster.broker import Broker, SimulatedProducer
from app.testkit.cluster.partition_log import LogTransaction, SentRecord, TransactionOutcome
from app.testkit.simulation.samples import Sample
from app.testkit.simulation.steps import Correct, Flaw, Produce, Request


@dataclass(frozen=True, slots=True)
class Fact:
    """An input record's place, and what it truly says."""

    place: TopicPartition
    offset: int
    sample: Sample
    transaction: LogTransaction | None

    @property
    def is_committed(self) -> bool:
        return self.transaction is None or self.transaction.outcome is TransactionOutcome.COMMITTED


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to raise a watermark, as it stands in the log."""

    offset: int
    sent: SentRecord
    request: Request
    not_before: int


@dataclass(frozen=True, slots=True)
class Corrected:
    """A correction as it stands in the log; None if nobody can read it."""

    partition: int
    offset: int
    sent: SentRecord
    correction: Correction | None


@dataclass
class Inputs:
    """Producers of all kinds, and a record of what they sent."""

    broker: Broker
    facts: list[Fact] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    corrected: list[Corrected] = field(default_factory=list)
    _producers: dict[str, SimulatedProducer] = field(default_factory=dict)

    def produce(self, step: Produce) -> None:
        """Send records, in a transaction of their own producer if the step names one."""
        for sample in step.samples:
            if step.producer is None:
                offset, transaction = self.broker.produce(step.place, sample.sent), None
            else:
                if step.producer not in self._producers:
                    self._producers[step.producer] = self.broker.init_producer(step.producer)
                offset = self._producers[step.producer].send(step.place, sample.sent)
                transaction = self.broker.log(*step.place).entries[-1].transaction
            self.facts.append(Fact(step.place, offset, sample, transaction))

    def end_transaction(self, producer: str, commits: bool) -> None:
        """End what a producer has open."""
        if producer in self._producers:
            held = self._producers[producer]
            (held.commit if commits else held.abort)()
            while self.broker.mark_one(producer):
                pass

    def request(self, topic: str, step: Request) -> None:
        """Ask for a watermark to be raised; `topic` takes such requests."""
        log = self.broker.log(*step.place)
        not_before = 0 if step.back is None else max(0, log.end - step.back)
        value = _request_bytes(AdvanceRequest(*step.place, step.watermark_us, not_before), step.flaw)
        sent = SentRecord(None, value, (), step.watermark_us // 1000)
        offset = self.broker.produce(TopicPartition(topic, step.place.partition), sent)
        self.asked.append(Asked(offset, sent, step, not_before))

    def correct(self, topic: str, step: Correct, stored: Sequence[tuple[RowKey, Cells]]) -> None:
        """Send a correction of one of these rows, if there are any; `topic` takes corrections."""
        correction: Correction | None = None
        if step.what != "junk":
            if not stored:
                return
            correction = _correction(step, *stored[step.pick % len(stored)])
        sent = SentRecord(b"r", b'{"run": "r"}' if correction is None else _correction_bytes(correction))
        for _ in range(2 if step.what == "twice" else 1):
            offset = self.broker.produce(TopicPartition(topic, step.partition), sent)
            self.corrected.append(Corrected(step.partition, offset, sent, correction))


def _request_bytes(request: AdvanceRequest, flaw: Flaw | None) -> bytes:
    match flaw:
        case Flaw.UNDECODABLE:
            return encode_request(request)[:-1]
        case Flaw.TOPIC:
            request = request._replace(topic="none")
        case Flaw.WATERMARK:
            request = request._replace(watermark_us=request.watermark_us * 1000)
        case Flaw.OFFSET:
            request = request._replace(not_before_offset=MAX_OFFSET)
    return encode_request(request)


def _correction(step: Correct, key: RowKey, cells: Cells) -> Correction:
    row = None if step.what == "remove" else (cells[0] + 1, *cells[1:])
    expected = (cells[0] + 7, *cells[1:]) if step.what == "stale" else cells
    return Correction("r", step.view.name, step.view.version, key, expected, row)


def _correction_bytes(correction: Correction) -> bytes:
    """A correction as the reconciliation sends it."""
    document = asdict(correction) | correction.key._asdict()
    del document["key"]
    return json.dumps(document).encode()
