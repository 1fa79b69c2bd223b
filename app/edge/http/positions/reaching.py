"""An answer that is to cover a position waits for it before it takes a place among those that are answered."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from app.domain.records import TopicPartition
from app.domain.view import View
from app.edge.http.context import Edge, edge_of
from app.edge.http.entry.admission import ADMISSION
from app.edge.http.entry.callers import caller_of
from app.edge.http.owners import partitions_missing
from app.edge.http.positions.standing import POSITIONS, PositionWatch, Standing
from app.edge.http.problems import Problem, bad_parameter
from app.edge.http.query.min_position import MinPosition, read_min_position
from app.edge.http.query.parameters import MIN_POSITION, WAIT
from app.edge.http.route import WAITS
from app.edge.http.rows.view_handlers import read_rows_request
from app.engine.drive.ownership.directory import Directory

LOOK_SECONDS = 0.05


async def position_reached(request: web.Request) -> None:
    """Returns at once if no position is asked for, else when it is covered. If it is not in time, the problem
    `not-reached`, or `partitions-missing` where nobody tells of a task that it names."""
    if MIN_POSITION not in request.query and WAIT not in request.query:
        return
    edge, (query, _) = edge_of(request), read_rows_request(request)
    view, wanted = query.view, read_min_position(query.view, request.query)
    if wanted is None:
        return
    edge.require_ready(view)
    _require_places(edge, view, wanted)
    waiting = _Waiting(request.app[POSITIONS], edge.directory(view), view, wanted)
    if not await waiting.look():
        async with request.app[ADMISSION].gates[WAITS].entered(caller_of(request).name):
            await waiting.reach()


def _require_places(edge: Edge, view: View, wanted: MinPosition) -> None:
    partitions = edge.directory(view).partitions
    for place in wanted.at_least:
        if place.partition >= partitions:
            raise bad_parameter(MIN_POSITION, str(place), f"partitions from 0 to {partitions - 1}")


class _Waiting:
    """One wait, from its beginning to its end: what it has heard of the places that it is about."""

    def __init__(self, positions: PositionWatch, directory: Directory, view: View, wanted: MinPosition) -> None:
        self._positions, self._directory, self._view, self._wanted = positions, directory, view, wanted
        self._until = time.monotonic() + wanted.wait_seconds
        self._covered: dict[TopicPartition, int] = {}
        self._missing: dict[int, str] = {}

    async def reach(self) -> None:
        """Returns once all is covered; the problem that says why it is not when the time is over."""
        while not await self.look():
            if self._left_seconds <= 0:
                raise self._not_reached()
            await asyncio.sleep(min(LOOK_SECONDS, self._left_seconds))

    async def look(self) -> bool:
        """Whether all is covered, by one more look at the tasks of which it is not known: no longer than is left."""
        owners = {self._directory.owners.get(place.partition) for place in self._behind()}
        looks = {self._positions.look(self._view, owner): owner for owner in owners}
        if looks:
            told, silent = await asyncio.wait(looks, timeout=self._left_seconds)
            for look in silent:
                self._not_heard(looks[look])
            for look in told:
                self._heard(look.result())
        return not self._behind()

    def _heard(self, standing: Standing) -> None:
        self._covered |= standing.covered
        heard = {place.partition for place in standing.covered}
        self._missing = {p: why for p, why in self._missing.items() if p not in heard} | {**standing.missing}

    def _not_heard(self, owner: str | None) -> None:
        heard = {place.partition for place in self._covered}
        for place in self._behind():
            if self._directory.owners.get(place.partition) == owner and place.partition not in heard:
                why = f"nothing was heard of its owner {owner} within {self._wanted.wait_seconds:g} s"
                self._missing.setdefault(place.partition, why)

    def _behind(self) -> dict[TopicPartition, int]:
        """What is not known to be covered, with where it is, as far as it is known."""
        at = {place: self._covered.get(place, 0) for place in self._wanted.at_least}
        return {place: offset for place, offset in at.items() if offset < self._wanted.at_least[place]}

    def _not_reached(self) -> Problem:
        behind = self._behind()
        missing = {place.partition: why for place in behind if (why := self._missing.get(place.partition))}
        if missing:
            return partitions_missing(self._view.name, self._directory, missing, takes_partial=False)
        told = ", ".join(f"{place} at {offset}" for place, offset in sorted(behind.items()))
        detail = f"The tables cover less after {self._wanted.wait_seconds:g} s: {told}."
        return Problem("not-reached", detail, position={str(place): offset for place, offset in behind.items()})

    @property
    def _left_seconds(self) -> float:
        return max(self._until - time.monotonic(), 0)
