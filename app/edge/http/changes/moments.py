"""What an answer was and is, for all who listen to it: the moment now, and those before it for a while."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple

from app.edge.http.changes.shared_events import SharedEvents
from app.edge.http.changes.shown import ShownRows
from app.edge.http.long_work import LongWork
from app.edge.http.problems import Problem

PAST_BYTES = 4_000_000
"""Of rows that were shown before, kept for who comes back."""


class Moment(NamedTuple):
    """What the answer is, or the problem why there is none.

    `number` counts the moments of a feed. None follows one that `ends` it.
    """

    number: int = 0
    now: ShownRows | None = None
    problem: Problem | None = None
    ends: bool = False


class Moments:
    """The moments of one feed. Who waits is told the latest; those it did not get to are in the difference to it."""

    def __init__(self, long_work: LongWork, past_bytes: int = PAST_BYTES) -> None:
        self._past_bytes = past_bytes
        self.latest, self.events = Moment(), SharedEvents(long_work)
        self._past: OrderedDict[str, ShownRows] = OrderedDict()
        self._moved = asyncio.Condition()

    @property
    def kept_bytes(self) -> int:
        """What its rows take, of now and of before, about, and the events that are kept of them."""
        return self._shown_bytes + self.events.kept_bytes

    def pause(self) -> None:
        """Nobody listens: who comes next waits for an answer of then. What was shown before stays known."""
        self.latest = Moment()
        self.events.end()

    async def after(self, number: int) -> Moment:
        """The latest moment, once it is behind that number."""
        async with self._moved:
            await self._moved.wait_for(lambda: self.latest.number > number)
            return self.latest

    def shown_before(self, digest: str) -> ShownRows | None:
        """What had this digest, if it is still known."""
        return self._past.get(digest)

    async def show(self, now: ShownRows) -> None:
        """The answer now. Nobody is told of the same rows again, unless there was a problem between."""
        was = self.latest
        if was.problem is None and was.now is not None and was.now.digest == now.digest:
            self.latest = was._replace(now=now._replace(rows=was.now.rows))  # for its meta; rows are kept once
            return
        self._remember(now)
        await self._tell(Moment(was.number + 1, now))

    async def refuse(self, problem: Problem) -> None:
        """Why there is no answer; told once. One that does not pass by itself is the end."""
        was = self.latest
        if was.problem is None or was.problem.detail != problem.detail:
            await self._tell(Moment(was.number + 1, was.now, problem, ends=not problem.type.retryable))

    async def end(self, problem: Problem) -> None:
        """Say why nothing follows."""
        await self._tell(Moment(self.latest.number + 1, self.latest.now, problem, ends=True))

    @property
    def _shown_bytes(self) -> int:
        return sum(one.size_bytes for one in self._past.values())

    def _remember(self, now: ShownRows) -> None:
        self._past[now.digest] = now
        self._past.move_to_end(now.digest)
        while len(self._past) > 1 and self._shown_bytes > self._past_bytes:
            self._past.popitem(last=False)

    async def _tell(self, moment: Moment) -> None:
        async with self._moved:
            if not self.latest.ends:
                self.latest = moment
                self._moved.notify_all()
