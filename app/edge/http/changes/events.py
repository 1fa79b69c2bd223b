"""The events of one client: with what it begins, what changed since, and that nothing did."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import orjson

from app.edge.http.changes.moments import Moment, Moments
from app.edge.http.changes.shown import ShownRows, standing, whole
from app.edge.http.problems import Problem

SNAPSHOT, CHANGES, SAME, GAP, PROBLEM = "snapshot", "changes", "same", "gap", "problem"
NOT_KNOWN = "The rows of the event that you had last are not known here any more; all rows follow."


class Events:
    """Of a feed's moments, to one client.

    `known`: the digest of the rows that it has already, by the last event that it got.
    """

    def __init__(self, moments: Moments, address: str, known: str | None) -> None:
        self._moments, self._address, self._known = moments, address, known
        self._told: ShownRows | None = None

    async def as_they_come(self, heartbeat_seconds: float) -> AsyncIterator[bytes]:
        """Until the feed ends; at least one in so many seconds."""
        moment = Moment()
        while not moment.ends:
            try:
                async with asyncio.timeout(heartbeat_seconds):
                    moment = await self._moments.after(moment.number)
            except TimeoutError:
                yield self._nothing_new()
                continue
            for event in self.of(moment):
                yield event

    def of(self, moment: Moment) -> Iterator[bytes]:
        """What leads from the moment that was told last to this one."""
        if moment.problem is not None:
            yield self.problem(moment.problem)
        elif moment.now is not None:
            yield from self._begin(moment.now) if self._told is None else self._go_on(self._told, moment.now)
            self._told = moment.now

    def problem(self, problem: Problem) -> bytes:
        """Why there is no answer, or none any more."""
        return _event(PROBLEM, orjson.dumps(problem.document(self._address)))

    def _begin(self, now: ShownRows) -> Iterator[bytes]:
        before = self._moments.shown_before(self._known) if self._known else None
        if before is not None:
            yield from self._go_on(before, now)
            return
        if self._known:
            yield _event(GAP, orjson.dumps({"after": self._known, "why": NOT_KNOWN}))
        yield _event(SNAPSHOT, whole(now), now.digest)

    def _go_on(self, before: ShownRows, now: ShownRows) -> Iterator[bytes]:
        if before.digest == now.digest:
            yield _event(SAME, standing(now), now.digest)
        else:
            yield _event(CHANGES, self._moments.difference(before, now), now.digest)

    def _nothing_new(self) -> bytes:
        """Where the client stands, with the meta of this moment.

        A comment while it has no rows, or there is a problem.
        """
        latest = self._moments.latest
        if self._told is None or latest.now is None or latest.problem is not None:
            return b": waiting\n\n"
        return _event(SAME, standing(latest.now), self._told.digest)


def _event(name: str, data: bytes, digest: str | None = None) -> bytes:
    """JSON has no line ends of its own, so one line holds it."""
    last = b"" if digest is None else b"id: " + digest.encode() + b"\n"
    return b"event: " + name.encode() + b"\n" + last + b"data: " + data + b"\n\n"
