"""Writer schemas by id, asked of the registry once and kept.

Only a registry's definite "no such id" is remembered as unknown; one that cannot be reached is asked again,
and the task waits (rule 15).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from app.codecs.avro_schema import Schemas, WriterSchema

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 15.0


class SchemaCache:
    """`look_up` asks the registry (blocking): the schema's text, None for no such id; `unavailable` when it cannot."""

    def __init__(self, look_up: Callable[[int], str | None], unavailable: type[Exception]) -> None:
        self._look_up, self._unavailable = look_up, unavailable
        self._known: dict[int, WriterSchema | None] = {}
        self._asking = asyncio.Lock()

    async def having(self, ids: Iterable[int]) -> Schemas:
        """Schemas with an entry for each of `ids`; waits, with backoff, while the registry cannot be reached."""
        for schema_id in ids:
            if schema_id not in self._known:
                async with self._asking:  # tasks that start together ask the same
                    await self._learn(schema_id)
        return self._known

    async def _learn(self, schema_id: int) -> None:
        if schema_id not in self._known:
            text = await self._ask(schema_id)
            self._known[schema_id] = None if text is None else WriterSchema(schema_id, text)

    async def _ask(self, schema_id: int) -> str | None:
        wait_seconds = FIRST_WAIT_SECONDS
        while True:
            try:
                return await asyncio.to_thread(self._look_up, schema_id)
            except self._unavailable as error:
                log.warning("schema id %d: %s; asking again in %.1f s", schema_id, error, wait_seconds)
                await asyncio.sleep(wait_seconds)
                wait_seconds = min(2 * wait_seconds, LONGEST_WAIT_SECONDS)
