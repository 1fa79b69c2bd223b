"""The events of one client: with what it begins, what changed since, and that nothing did."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import orjson

from app.edge.http.changes.framed import GAP, PROBLEM, SAME, framed
from app.edge.http.changes.moments import Moment, Moments
from app.edge.http.changes.shown import ShownRows, standing
from app.edge.http.problems import Problem

NOT_KNOWN = "The rows of the event that you had last are not known here any more; all rows follow."


class Events:
    """Of a feed's moments, to one client.

    `known`: the digest of the rows that it has already, by the last event that it got.
    """

    def __init__(self, moments: Moments, address: str, known: str | None) -> None:
        self._moments, self._address, self._known = moments, address, known
        self._told: ShownRows | None = None

    async def as_they_come(self, heartbeat_seconds: float) -> AsyncIterator[bytes]:
        """Until the feed ends; at least one in so many seconds. None is held here once it is told."""
        moment = Moment()
        while not moment.ends:
            try:
                async with asyncio.timeout(heartbeat_seconds):
                    moment = await self._moments.after(moment.number)
            except TimeoutError:
                yield self._nothing_new()
                continue
            events = await self.of(moment)
            while events:
                yield events.pop(0)

    async def of(self, moment: Moment) -> list[bytes]:
        """What leads from the moment that was told last to this one."""
        if moment.problem is not None:
            return [self.problem(moment.problem)]
        if (now := moment.now) is None:
            return []
        events = await self._begin(now) if self._told is None else [await self._go_on(self._told, now)]
        self._told = now
        return events

    def problem(self, problem: Problem) -> bytes:
        """Why there is no answer, or none any more."""
        return framed(PROBLEM, orjson.dumps(problem.document(self._address)))

    async def _begin(self, now: ShownRows) -> list[bytes]:
        before = self._moments.shown_before(self._known) if self._known else None
        if before is not None:
            return [await self._go_on(before, now)]
        snapshot = await self._moments.events.leading_to(now)
        if not self._known:
            return [snapshot]
        return [framed(GAP, orjson.dumps({"after": self._known, "why": NOT_KNOWN})), snapshot]

    async def _go_on(self, before: ShownRows, now: ShownRows) -> bytes:
        if before.digest == now.digest:
            return framed(SAME, *standing(now), digest=now.digest)
        return await self._moments.events.leading_to(now, before)

    def _nothing_new(self) -> bytes:
        """Where the client stands, with the meta of this moment.

        A comment while it has no rows, or there is a problem.
        """
        latest = self._moments.latest
        if self._told is None or latest.now is None or latest.problem is not None:
            return b": waiting\n\n"
        return framed(SAME, *standing(latest.now), digest=self._told.digest)
