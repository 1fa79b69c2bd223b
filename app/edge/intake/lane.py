"""A lane: a thread that writes what requests bring in Kafka transactions, each with what its sender is told.

Records, and the answer under the request's key, are committed together. Whoever opens a lane ends what its holder
before left undone, as both have one transactional id, and reads what that one remembered. So a key is answered the same
after any death, and its records are there once. What a broker refuses for good is told to whoever sent it, and what was
in its transaction is written in another. Whatever else fails, the lane ends: the next one finds out what was written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Final, NamedTuple

from confluent_kafka import Producer

from app.base.kafka.committed import LogRefused, LogSilent, committed
from app.base.names import intake_id, received_topic
from app.edge.intake.failures import (
    FAILURES,
    REFUSALS,
    BrokerRefuses,
    NotConfirmed,
    NotWritten,
    in_words,
    refusal_among,
)
from app.edge.intake.memory import Memory, MemoryFull
from app.edge.intake.sending import SECONDS, OnTheWay, reply_to, send
from app.edge.intake.wanted import Reply, Wanted


def _quiet() -> logging.Logger:
    """Else a lane that was taken over would say so on standard error, as a fatal one."""
    quiet = logging.getLogger(f"{__name__}.client")
    quiet.propagate = False
    quiet.addHandler(logging.NullHandler())
    return quiet


OPTIONS: Final[Mapping[str, Any]] = {
    "partitioner": "murmur2_random",  # what Java clients do, so that keys meet their other halves
    "compression.type": "lz4",
    "linger.ms": 0,
    "queue.buffering.max.messages": 250_000,
    "transaction.timeout.ms": 10_000,
    "message.timeout.ms": 10_000,
    "error_cb": lambda error: None,  # what matters is raised, by whatever is asked for next
    "logger": _quiet(),
}
"""The time of a transaction bounds how long a worker that died in one hides what others write behind it."""
MOST_BYTES, MOST_REQUESTS = 8_000_000, 1_000
"""Of what one transaction writes; a single request may be larger."""


class _Asked(NamedTuple):
    wanted: Wanted
    answer: Future[Reply]


class Lane:
    """One of an application's, by number; it opens by itself, and is used until it `has_ended`."""

    def __init__(self, client: Mapping[str, Any], application: str, number: int, memory: Memory) -> None:
        self._client, self._number, self._memory = client, number, memory
        self._topic = received_topic(application)
        self._queue: SimpleQueue[_Asked | None] = SimpleQueue()
        self._closing, self.has_ended = Lock(), False
        self._committing: Sequence[_Asked] = ()
        self._is_out_of_step = False
        producer = Producer({**client, **OPTIONS, "transactional.id": intake_id(application, number)})
        Thread(target=self._run, args=(producer,), name=f"intake-{number}", daemon=True).start()

    def write(self, wanted: Wanted) -> Future[Reply]:
        """What becomes of it: what its key stands for, if it has come before. NotConfirmed where the lane ends before
        that is known. Nothing is written with the others: NotWritten where the lane ends before; BrokerRefuses;
        MemoryFull, as its key could not be remembered."""
        asked = _Asked(wanted, Future())
        with self._closing:
            if self.has_ended:
                asked.answer.set_exception(NotWritten("the lane has ended"))
            else:
                self._queue.put(asked)
        return asked.answer

    def end(self) -> None:
        """Behind what it was given."""
        self._queue.put(None)

    def _run(self, producer: Producer) -> None:
        taken: list[_Asked] = []
        try:
            self._open(producer)
            while taken := self._take():
                for batch in _each_key_once(taken):
                    self._write(producer, batch)
            self._close([], "the lane has ended")
        except Exception as error:
            self._close(taken, in_words(error))
            with suppress(*FAILURES):  # so that nobody waits for what it left open; the next lane makes sure of it
                producer.abort_transaction(SECONDS)
            if not isinstance(error, (*FAILURES, LogSilent, LogRefused, NotWritten)):
                raise

    def _close(self, taken: Sequence[_Asked], why: str) -> None:
        with self._closing:
            self.has_ended = True
        left = list(taken)
        while not self._queue.empty():  # nobody puts anything in any more
            if (asked := self._queue.get()) is not None:
                left.append(asked)
        unknown = {id(asked) for asked in self._committing}
        for asked in left:
            if not asked.answer.done():
                asked.answer.set_exception((NotConfirmed if id(asked) in unknown else NotWritten)(why))

    def _open(self, producer: Producer) -> None:
        producer.init_transactions(SECONDS)
        for message in committed(self._client, self._topic, self._number):
            if message.value() is not None:
                self._memory.keep(_text(message.key()), message.value() or b"", message.timestamp()[1])

    def _take(self) -> list[_Asked]:
        """What waits, for one transaction or a few; nothing when the lane is to end."""
        first = self._queue.get()
        taken, size = ([], 0) if first is None else ([first], first.wanted.size)
        for asked in self._waiting() if taken else ():
            taken.append(asked)
            size += asked.wanted.size
            if size > MOST_BYTES or len(taken) >= MOST_REQUESTS:
                break
        return taken

    def _waiting(self) -> Iterator[_Asked]:
        with suppress(Empty):
            while True:
                asked = self._queue.get_nowait()
                if asked is None:
                    self._queue.put(None)  # told again to whoever waits next
                    return
                yield asked

    def _write(self, producer: Producer, batch: Sequence[_Asked]) -> None:
        new = [asked for asked in batch if not self._is_answered(asked)]
        if not new:
            return
        producer.begin_transaction()
        sent = send(producer, [asked.wanted for asked in new])
        if not any(one.errors for one in sent):
            self._commit(producer, new, [one.reply() for one in sent])
        else:
            self._write_apart(producer, new, sent)

    def _write_apart(self, producer: Producer, batch: Sequence[_Asked], sent: Sequence[OnTheWay]) -> None:
        """Each of which a broker took not all by itself, as the fault may be another's that shared a batch with it; the
        others together."""
        error = refusal_among(error for one in sent for error in one.errors)
        if error is None and not self._is_out_of_step:
            raise NotWritten(next(error.str() for one in sent for error in one.errors))
        apart = [bool(one.errors) for one in sent]  # before aborting adds those that it takes back
        producer.abort_transaction(SECONDS)
        self._is_out_of_step = error is not None  # what was refused was numbered: what follows it is refused once
        if error is None:
            self._write(producer, batch)
            return
        if len(batch) == 1:
            told = f"{batch[0].wanted.topic}: {REFUSALS[error.code()]} ({error.str()})"
            batch[0].answer.set_exception(BrokerRefuses(told))
            return
        self._write(producer, [asked for asked, is_apart in zip(batch, apart, strict=True) if not is_apart])
        for asked, is_apart in zip(batch, apart, strict=True):
            if is_apart:
                self._write(producer, [asked])

    def _commit(self, producer: Producer, batch: Sequence[_Asked], told: Sequence[Reply]) -> None:
        for asked, answer in zip(batch, told, strict=True):
            if asked.wanted.key is not None:
                producer.produce(self._topic, answer.as_json(), asked.wanted.key, self._number)
        if producer.flush(SECONDS):
            raise NotWritten("the brokers did not take all in time")
        self._committing = batch
        producer.commit_transaction(SECONDS)
        self._committing = ()
        for asked, answer in zip(batch, told, strict=True):
            if asked.wanted.key is not None:
                self._memory.keep(asked.wanted.key, answer.as_json(), _now_ms())
            asked.answer.set_result(answer)

    def _is_answered(self, asked: _Asked) -> bool:
        """By what is remembered, as there is nothing to write, or as it could not be remembered."""
        if asked.wanted.key is None:
            return False
        if (told := self._memory.find(asked.wanted.key)) is not None:
            asked.answer.set_result(told)
            return True
        if asked.wanted.is_refused:
            asked.answer.set_result(reply_to(asked.wanted, ()))
            return True
        try:
            self._memory.require_room(_now_ms())
        except MemoryFull as error:
            asked.answer.set_exception(error)
            return True
        return False


def _each_key_once(taken: Sequence[_Asked]) -> Iterator[Sequence[_Asked]]:
    """In their order: a key that comes again waits for the transaction behind, which finds it remembered."""
    left = list(taken)
    while left:
        keys: set[str] = set()
        batch, again = list[_Asked](), list[_Asked]()
        for asked in left:
            key = asked.wanted.key
            (again if key in keys else batch).append(asked)
            keys |= {key} if key is not None else set()
        yield batch
        left = again


def _text(key: bytes | str | None) -> str:
    return key.decode() if isinstance(key, bytes) else key or ""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
