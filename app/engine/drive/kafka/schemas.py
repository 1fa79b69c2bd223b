"""Writer schemas by id, asked of the registry once and kept.

A registry's definite "no such id" is a fact about the records that named it then (rule 15): it is asked again for later
ones, though not at once. One that cannot be reached is asked until it answers, and the task waits. However many ids
somebody needs, a few of them are asked for at a time, so that others are asked for in between.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from weakref import WeakValueDictionary

from app.codecs.avro.schema import Schemas, WriterSchema
from app.engine.drive.callbacks import LookUp

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 15.0
UNKNOWN_SECONDS = 10.0
"""For so long an id that the registry does not have is not asked for again."""
MOST_UNKNOWN = 10_000
AT_ONCE, AT_ONCE_FOR_ONE = 16, 4
"""Questions to the registry at a time, of all, and for the ids that one batch needs."""


@dataclass
class Awaited:
    """A schema id that tasks wait for, since when (µs since 1970), and what came instead of an answer, if anything."""

    schema_id: int
    since_us: int
    why: str = ""
    waiting: int = 0
    """Batches that need it."""


class SchemaCache:
    """`look_up` asks the registry (blocking): the schema, None for no such id; `unavailable` when it cannot."""

    def __init__(self, look_up: LookUp, unavailable: type[Exception]) -> None:
        self._look_up, self._unavailable = look_up, unavailable
        self._known: dict[int, WriterSchema] = {}
        self._unknown_until: dict[int, float] = {}
        self._expected: dict[int, str] = {}
        self._awaited: dict[int, Awaited] = {}
        self._asking: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._answered = asyncio.Event()
        """Set when the registry answers, and another one made: those who wait to ask again need not wait longer."""
        self._questions = asyncio.Semaphore(AT_ONCE)

    @property
    def awaited(self) -> list[Awaited]:
        """The ids that tasks wait for now, those for longest first."""
        return list(self._awaited.values())

    def expect(self, fingerprints: Mapping[str, str]) -> None:
        """By id, schemas by which records were read before: no other answer about these is believed (rule 15)."""
        for schema_id, fingerprint in fingerprints.items():
            self._expected.setdefault(int(schema_id), fingerprint)

    def known(self, ids: Collection[int]) -> Schemas | None:
        """An entry for each of `ids`; None if the registry must be asked about one of them."""
        return None if self._missing(ids) else self._of(ids)

    async def having(self, ids: Iterable[int]) -> Schemas:
        """An entry for each of `ids`; waits, with backoff, while the registry does not answer about one of them."""
        wanted = list(ids)
        if missing := self._missing(wanted):
            left = iter(missing)
            with self._awaiting(missing):
                async with asyncio.TaskGroup() as asked:
                    for _ in range(min(len(missing), AT_ONCE_FOR_ONE)):
                        asked.create_task(self._learn_all(left))
        return self._of(wanted)

    def _of(self, ids: Iterable[int]) -> Schemas:
        return {schema_id: self._known.get(schema_id) for schema_id in ids}

    @contextmanager
    def _awaiting(self, ids: Iterable[int]) -> Iterator[None]:
        """Those that are known meanwhile are awaited no more (`_learn`), whether the others come or not."""
        now_us, awaited = time.time_ns() // 1000, dict[int, Awaited]()
        for schema_id in ids:
            awaited[schema_id] = self._awaited.setdefault(schema_id, Awaited(schema_id, now_us))
            awaited[schema_id].waiting += 1
        try:
            yield
        finally:
            for schema_id, one in awaited.items():
                one.waiting -= 1
                if not one.waiting and self._awaited.get(schema_id) is one:
                    del self._awaited[schema_id]

    def _missing(self, wanted: Iterable[int]) -> list[int]:
        now = time.monotonic()
        return [one for one in wanted if one not in self._known and self._unknown_until.get(one, now) <= now]

    async def _learn_all(self, left: Iterator[int]) -> None:
        for schema_id in left:
            await self._learn(schema_id)

    async def _learn(self, schema_id: int) -> None:
        lock = self._asking.setdefault(schema_id, asyncio.Lock())
        async with lock:  # tasks that start together ask the same; who asks for another id does not wait here
            if self._missing([schema_id]):
                found = await self._ask(schema_id)
                if found is None:
                    self._remember_unknown(schema_id)
                else:
                    self._known[schema_id] = found
            self._awaited.pop(schema_id, None)

    def _remember_unknown(self, schema_id: int) -> None:
        """Of damaged records there may be any number, each with an id of its own."""
        if len(self._unknown_until) >= MOST_UNKNOWN:
            self._unknown_until.clear()
        self._unknown_until[schema_id] = time.monotonic() + UNKNOWN_SECONDS

    async def _ask(self, schema_id: int) -> WriterSchema | None:
        wait_seconds = FIRST_WAIT_SECONDS
        while True:
            answered = self._answered
            try:
                async with self._questions:
                    found = await asyncio.wrap_future(self._question(schema_id))
                self._compare(schema_id, found)
            except self._unavailable as error:
                self._tell(schema_id, error)
                await asyncio.sleep(FIRST_WAIT_SECONDS)
                await self._until(answered, wait_seconds - FIRST_WAIT_SECONDS)
                wait_seconds = min(2 * wait_seconds, LONGEST_WAIT_SECONDS)
            else:
                self._answered, answered = asyncio.Event(), self._answered
                answered.set()
                return found

    def _compare(self, schema_id: int, found: WriterSchema | None) -> None:
        expected = self._expected.get(schema_id)
        if expected is None or (found is not None and found.fingerprint == expected):
            return
        told = "has it no more" if found is None else f"holds another schema under it ({found.fingerprint})"
        raise self._unavailable(
            f"records were read by schema id {schema_id} ({expected}), and the registry {told}: give it back the "
            "schemas that it had"
        )

    def _question(self, schema_id: int) -> Future[WriterSchema | None]:
        """Put in a thread that nobody waits for when the process ends, as an executor's would be."""
        told = Future[WriterSchema | None]()

        def ask() -> None:
            told.set_running_or_notify_cancel()
            try:
                told.set_result(self._look_up(schema_id))
            except BaseException as error:
                told.set_exception(error)

        threading.Thread(target=ask, name="registry", daemon=True).start()
        return told

    def _tell(self, schema_id: int, error: Exception) -> None:
        if schema_id in self._awaited:
            self._awaited[schema_id].why = str(error)
        log.warning("%d schema ids are waited for, %d among them: %s", len(self._awaited), schema_id, error)

    @staticmethod
    async def _until(answered: asyncio.Event, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(answered.wait(), seconds)
