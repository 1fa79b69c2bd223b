"""How often feeds look, however many there are: one after the other, with rests between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

REST = 3
"""For so many times as long as a look took nobody looks: together they take a quarter of a core at most."""
LONGEST_REST_SECONDS = 1.0


class Looks:
    """Shared by all feeds of a worker. With many of them each is later, not the worker."""

    def __init__(self, longest_rest_seconds: float = LONGEST_REST_SECONDS) -> None:
        self._turn, self._longest_rest_seconds = asyncio.Lock(), longest_rest_seconds

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One look, and the rest behind it; none behind one that was broken off."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            began = loop.time()
            yield
            await asyncio.sleep(min(self._longest_rest_seconds, REST * (loop.time() - began)))
