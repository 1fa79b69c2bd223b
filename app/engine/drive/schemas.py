"""Writer schemas by id, asked of the registry once and kept.

A registry's definite "no such id" is a fact about the records that named it then (rule 15): it is asked again for later
ones, though not at once. One that cannot be reached is asked until it answers, and the task waits.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakValueDictionary

from app.codecs.avro_schema import Schemas, WriterSchema

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 15.0
UNKNOWN_SECONDS = 10.0
"""For so long an id that the registry does not have is not asked for again."""
MOST_UNKNOWN = 10_000
AT_ONCE = 8


class SchemaCache:
    """`look_up` asks the registry (blocking): the schema, None for no such id; `unavailable` when it cannot."""

    def __init__(self, look_up: Callable[[int], WriterSchema | None], unavailable: type[Exception]) -> None:
        self._look_up, self._unavailable = look_up, unavailable
        self._known: dict[int, WriterSchema] = {}
        self._unknown_until: dict[int, float] = {}
        self._asking: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._threads = ThreadPoolExecutor(AT_ONCE, "registry")  # its own: a slow registry fills them all

    @property
    def awaited(self) -> int:
        """How many ids tasks wait for now."""
        return len(self._asking)

    async def having(self, ids: Iterable[int]) -> Schemas:
        """An entry for each of `ids`; waits, with backoff, while the registry does not answer about one of them."""
        wanted = list(ids)
        if missing := self._missing(wanted):
            async with asyncio.TaskGroup() as asked:
                for schema_id in missing:
                    asked.create_task(self._learn(schema_id))
        return {schema_id: self._known.get(schema_id) for schema_id in wanted}

    def _missing(self, wanted: Iterable[int]) -> list[int]:
        now = time.monotonic()
        return [one for one in wanted if one not in self._known and self._unknown_until.get(one, now) <= now]

    async def _learn(self, schema_id: int) -> None:
        lock = self._asking.setdefault(schema_id, asyncio.Lock())
        async with lock:  # tasks that start together ask the same; who asks for another id does not wait here
            if not self._missing([schema_id]):
                return
            found = await self._ask(schema_id)
            if found is None:
                self._remember_unknown(schema_id)
            else:
                self._known[schema_id] = found

    def _remember_unknown(self, schema_id: int) -> None:
        """Of damaged records there may be any number, each with an id of its own."""
        if len(self._unknown_until) >= MOST_UNKNOWN:
            self._unknown_until.clear()
        self._unknown_until[schema_id] = time.monotonic() + UNKNOWN_SECONDS

    async def _ask(self, schema_id: int) -> WriterSchema | None:
        wait_seconds, loop = FIRST_WAIT_SECONDS, asyncio.get_running_loop()
        while True:
            try:
                return await loop.run_in_executor(self._threads, self._look_up, schema_id)
            except self._unavailable as error:
                log.warning("schema id %d: %s; asking again in %.1f s", schema_id, error, wait_seconds)
                await asyncio.sleep(wait_seconds)
                wait_seconds = min(2 * wait_seconds, LONGEST_WAIT_SECONDS)
