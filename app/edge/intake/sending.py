"""Records of requests on their way to the brokers, in a transaction that is open: where each stands, or why not."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from app.edge.intake.failures import FAILURES, NotWritten
from app.edge.intake.wanted import Keyed, Reply, Wanted, WrittenAt

SECONDS: Final = 10.0
"""For each thing that is asked of the brokers."""
LOOK_SECONDS: Final = 0.1
"""Behind a refusal nothing more may come: so often it is looked for."""


class OnTheWay:
    """One request's; `errors`: what brokers said of those that they did not take."""

    def __init__(self, wanted: Wanted) -> None:
        self.errors: list[KafkaError] = []
        self._wanted = wanted
        self._records = [one for one in wanted.records if isinstance(one, Keyed)]
        self._places: list[WrittenAt | None] = [None] * len(self._records)

    def produce(self, producer: Producer) -> None:
        """Hands them over. KafkaException where the transaction takes no more."""
        for at, record in enumerate(self._records):
            producer.produce(self._wanted.topic, record.value, record.key, on_delivery=partial(self._taken, at))
            producer.poll(0)

    def reply(self) -> Reply:
        """Once all are taken."""
        return reply_to(self._wanted, self._places)

    def _taken(self, at: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self._places[at] = WrittenAt(message.partition() or 0, message.offset() or 0)


def send(producer: Producer, all_wanted: Sequence[Wanted]) -> list[OnTheWay]:
    """All of them taken, or of some an error, and then the others may not have been sent. NotWritten, FAILURES."""
    sent = [OnTheWay(wanted) for wanted in all_wanted]
    try:
        for one in sent:
            one.produce(producer)
    except FAILURES:  # as after a refusal, whose report may be under way
        _flush(producer, sent)
        if not any(one.errors for one in sent):
            raise
    else:
        _flush(producer, sent)
    return sent


def _flush(producer: Producer, sent: Sequence[OnTheWay]) -> None:
    until = time.monotonic() + SECONDS
    while producer.flush(LOOK_SECONDS) and not any(one.errors for one in sent):
        if time.monotonic() > until:
            raise NotWritten("the brokers did not take all in time")


def reply_to(wanted: Wanted, places: Sequence[WrittenAt | None]) -> Reply:
    """Of each record where it stands, or why it was refused."""
    left = iter(places)
    outcomes = [next(left) if isinstance(one, Keyed) else one for one in wanted.records]
    return Reply(wanted.digest, [one for one in outcomes if one is not None])
