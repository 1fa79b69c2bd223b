"""One question that is asked again and again as long as somebody listens, however many do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from app.edge.http.changes.moments import Moments
from app.edge.http.changes.shown import shown
from app.edge.http.context import Edge
from app.edge.http.looks import Looks
from app.edge.http.problems import Problem
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.answered import answered
from app.edge.http.rows.answers import rows_answer

log = logging.getLogger(__name__)

LEAST_SECONDS = 0.05
"""Between two looks of a feed."""


class Feed:
    """A question, asked while anybody listens. `require_room` is a problem where its rows cannot be kept, too."""

    def __init__(self, edge: Edge, query: RowsQuery, looks: Looks, require_room: Callable[[], None]) -> None:
        self._edge, self._query, self._looks, self._require_room = edge, query, looks, require_room
        self.moments = Moments(edge.long_work)
        self._stand: object = None
        self._asking: asyncio.Task[None] | None = None
        self._listeners = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """It is asked while anybody is inside."""
        self._listeners += 1
        if self._asking is None:
            self._stand = None
            self._asking = asyncio.create_task(self._ask_on())
        try:
            yield
        finally:
            self._listeners -= 1
            if not self._listeners and self._asking is not None:
                self._asking.cancel()
                self._asking = None
                self.moments.pause()

    @property
    def is_heard(self) -> bool:
        """Whether anybody is inside."""
        return self._listeners > 0

    async def _ask_on(self) -> None:
        while not self.moments.latest.ends:
            async with self._looks.turn():
                await self._look()
            await asyncio.sleep(LEAST_SECONDS)

    async def _look(self) -> None:
        try:
            await self._ask()
        except Problem as problem:
            await self._refuse(problem)
        except Exception:
            log.exception("changes of %s cannot be told", self._query.view.name)
            await self._refuse(Problem("internal-error", "The worker's log says why."))

    async def _ask(self) -> None:
        """Ask, unless nothing can have changed."""
        self._edge.require_ready(self._query.view)
        stand = self._own_stand()
        if stand is not None and stand == self._stand:
            return
        if self.moments.latest.now is None:
            self._require_room()
        found = await answered(self._edge, self._query, takes_partial=False, with_past=False)
        now = await rows_answer(self._edge, found, partial(shown, self._query))
        self._stand = stand
        await self.moments.show(now)

    async def _refuse(self, problem: Problem) -> None:
        self._stand = None
        await self.moments.refuse(problem)

    def _own_stand(self) -> object:
        """All that an answer can depend on, where all tasks are here; None where others must be asked."""
        directory = self._edge.directory(self._query.view)
        if len(directory.tasks) < directory.partitions:
            return None
        tasks = [(partition, task.marker.sequence, id(task)) for partition, task in sorted(directory.tasks.items())]
        return [*tasks, self._edge.names.next_offset]
