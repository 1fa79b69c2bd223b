"""A lane: a thread that writes what requests bring in Kafka transactions, each with what its sender is told.

Records, and the answer under the request's key, are committed together. Whoever opens a lane ends what its holder
before left undone, as both have one transactional id, and reads what that one remembered. So a key is answered the same
after any death, and its records are there once. Whatever fails, the lane ends: the next one finds out what was written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from app.base.kafka.committed import LogRefused, LogSilent, committed
from app.base.names import intake_id, received_topic
from app.domain.errors import FlagfallError
from app.edge.intake.memory import Memory, MemoryFull
from app.edge.intake.wanted import Keyed, Reply, Wanted, WrittenAt


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
FAILURES: Final = (KafkaException, BufferError, SystemError)
"""The last is the client's own where it hands over reports of deliveries behind an error that it has to raise."""
SECONDS: Final = 10.0
"""For each thing that is asked of the brokers."""


class NotConfirmed(FlagfallError):
    """Nobody knows yet whether a request's records were written: with its key, it may be sent again."""


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
        producer = Producer({**client, **OPTIONS, "transactional.id": intake_id(application, number)})
        Thread(target=self._run, args=(producer,), name=f"intake-{number}", daemon=True).start()

    def write(self, wanted: Wanted) -> Future[Reply]:
        """What becomes of it: what its key stands for, if it has come before. NotConfirmed where the lane ends before
        that is known, MemoryFull where nothing is written, as its key could not be remembered."""
        asked = _Asked(wanted, Future())
        with self._closing:
            if self.has_ended:
                asked.answer.set_exception(NotConfirmed("the lane has ended"))
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
            self._close(taken, _why(error))
            with suppress(*FAILURES):  # so that nobody waits for what it left open; the next lane makes sure of it
                producer.abort_transaction(SECONDS)
            if not isinstance(error, (*FAILURES, LogSilent, LogRefused, NotConfirmed)):
                raise

    def _close(self, taken: Sequence[_Asked], why: str) -> None:
        with self._closing:
            self.has_ended = True
        left = list(taken)
        while not self._queue.empty():  # nobody puts anything in any more
            if (asked := self._queue.get()) is not None:
                left.append(asked)
        for asked in left:
            if not asked.answer.done():
                asked.answer.set_exception(NotConfirmed(why))

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
        failed: list[KafkaError] = []
        placed = [_produced(producer, asked.wanted, failed) for asked in new]
        if producer.flush(SECONDS) or failed:
            raise NotConfirmed(failed[0].str() if failed else "the brokers did not take all in time")
        told = [_told(asked.wanted, places) for asked, places in zip(new, placed, strict=True)]
        for asked, answer in zip(new, told, strict=True):
            if asked.wanted.key is not None:
                producer.produce(self._topic, answer.as_json(), asked.wanted.key, self._number)
        producer.commit_transaction(SECONDS)
        for asked, answer in zip(new, told, strict=True):
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
            asked.answer.set_result(_told(asked.wanted, ()))
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


def _produced(producer: Producer, wanted: Wanted, failed: list[KafkaError]) -> list[WrittenAt | None]:
    """Where its records stand, filled in as the brokers take them."""
    records = [one for one in wanted.records if isinstance(one, Keyed)]
    places: list[WrittenAt | None] = [None] * len(records)

    def taken(at: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error)
        else:
            places[at] = WrittenAt(message.partition() or 0, message.offset() or 0)

    for at, record in enumerate(records):
        producer.produce(wanted.topic, record.value, record.key, on_delivery=partial(taken, at))
        producer.poll(0)
    return places


def _told(wanted: Wanted, places: Sequence[WrittenAt | None]) -> Reply:
    left = iter(places)
    outcomes = [next(left) if isinstance(one, Keyed) else one for one in wanted.records]
    return Reply(wanted.digest, [one for one in outcomes if one is not None])


def _why(error: BaseException) -> str:
    """In words, without the client's own codes."""
    if isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__
    told = error.args[0] if error.args else None
    return str(told.str() if isinstance(told, KafkaError) else error)


def _text(key: bytes | str | None) -> str:
    return key.decode() if isinstance(key, bytes) else key or ""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
