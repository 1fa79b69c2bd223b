"""Who asks, and that they still may while they are answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from app.edge.http.problems import Problem


class Caller:
    """Of one request: its key's name, or its address where no keys are asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._deadline: asyncio.Timeout | None = None
        self._lapsed: Problem | None = None

    @asynccontextmanager
    async def counting(self) -> AsyncIterator[None]:
        """What goes on inside is broken off, and is the problem of a key that lapses meanwhile.

        Of two, one in the other, the inner one is.
        """
        outer = self._deadline
        try:
            async with asyncio.timeout(None) as deadline:
                self._deadline = deadline
                yield
        except TimeoutError:
            if self._lapsed is None or not deadline.expired():
                raise
            raise self._lapsed from None
        finally:
            self._deadline = outer

    def lapse(self, problem: Problem) -> None:
        """Break off what is answered. At most once."""
        self._lapsed = problem
        if self._deadline is not None:
            self._deadline.reschedule(asyncio.get_running_loop().time())


CALLER = web.RequestKey("caller", Caller)


def caller_of(request: web.Request) -> Caller:
    """Of a request that was let in, to an address that asks who asks."""
    return request[CALLER]
