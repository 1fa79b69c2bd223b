"""Where the tables of a view stand, looked at once for all who wait for it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from aiohttp import web

from app.domain.records import TopicPartition
from app.domain.view import View
from app.edge.http.context import Edge
from app.edge.http.looks import Looks
from app.edge.http.query.rows_query import no_rows_query
from app.edge.http.rows.gather import gather

LONGEST_REST_SECONDS = 0.2
"""Who waits for the shortest time is told of a look that began within it, unless the owner is silent."""


class Standing(NamedTuple):
    """Next offsets of an owner's tasks, and why each of those that could not be had is missing."""

    covered: Mapping[TopicPartition, int]
    missing: Mapping[int, str]


class PositionWatch:
    """Those of one worker. However many wait, looks at an owner's tasks follow one another, with rests between; no
    owner is waited for by who asks about another's."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._looks: dict[str | None, Looks] = defaultdict(lambda: Looks(LONGEST_REST_SECONDS))
        self._awaited: dict[tuple[str, str | None], asyncio.Future[Standing]] = {}
        self._looking: set[asyncio.Task[None]] = set()

    def look(self, view: View, owner: str | None) -> asyncio.Future[Standing]:
        """At the tasks that one worker owns, None those that nobody does, by a look that begins after it was asked for;
        whoever asks meanwhile shares it, so it is not to be cancelled."""
        awaited = self._awaited.get((view.name, owner))
        if awaited is None:
            awaited = self._awaited[view.name, owner] = asyncio.get_running_loop().create_future()
            looking = asyncio.create_task(self._look(view, owner, awaited))
            self._looking.add(looking)
            looking.add_done_callback(self._looking.discard)
        return awaited

    async def _look(self, view: View, owner: str | None, awaited: asyncio.Future[Standing]) -> None:
        async with self._looks[owner].turn():
            del self._awaited[view.name, owner]
            try:
                awaited.set_result(await self._standing(view, owner))
            except Exception as error:
                awaited.set_exception(error)
                awaited.exception()  # they may all have left

    async def _standing(self, view: View, owner: str | None) -> Standing:
        directory = self._edge.directory(view)
        partitions = [p for p in range(directory.partitions) if directory.owners.get(p) == owner]
        gathered = await gather(self._edge, no_rows_query(view, partial_allowed=True), partitions=partitions)
        covered = {
            TopicPartition(topic, partition): state.next_offset
            for partition, part in gathered.parts.items()
            for topic, state in part.inputs.items()
        }
        return Standing(covered, gathered.missing)


POSITIONS = web.AppKey("positions", PositionWatch)
