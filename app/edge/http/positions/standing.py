"""Where the tables of a view stand, looked at once for all who wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web

from app.domain.records import TopicPartition
from app.domain.view import View
from app.edge.http.context import Edge
from app.edge.http.looks import Looks
from app.edge.http.query.rows_query import no_rows_query
from app.edge.http.rows.gather import gather

Standing = Mapping[TopicPartition, int]
"""Next offsets; a task that cannot be had is left out."""


class PositionWatch:
    """Those of one worker. However many wait, looks follow one another, with rests between."""

    def __init__(self, edge: Edge) -> None:
        self._edge, self._looks = edge, Looks()
        self._awaited: dict[str, asyncio.Future[Standing]] = {}
        self._looking: set[asyncio.Task[None]] = set()

    async def now(self, view: View) -> Standing:
        """By a look that began after it was asked for; whoever asks meanwhile shares it."""
        awaited = self._awaited.get(view.name)
        if awaited is None:
            awaited = self._awaited[view.name] = asyncio.get_running_loop().create_future()
            looking = asyncio.create_task(self._look(view, awaited))
            self._looking.add(looking)
            looking.add_done_callback(self._looking.discard)
        return await asyncio.shield(awaited)

    async def _look(self, view: View, awaited: asyncio.Future[Standing]) -> None:
        async with self._looks.turn():
            del self._awaited[view.name]
            try:
                awaited.set_result(await self._covered(view))
            except Exception as error:
                awaited.set_exception(error)
                awaited.exception()  # they may all have left

    async def _covered(self, view: View) -> Standing:
        gathered = await gather(self._edge, no_rows_query(view, partial_allowed=True))
        return {
            TopicPartition(topic, partition): state.next_offset
            for partition, part in gathered.parts.items()
            for topic, state in part.inputs.items()
        }


POSITIONS = web.AppKey("positions", PositionWatch)
