"""Events that all clients of a feed are told alike: each is made once, beside the loop where it is about many rows."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from app.edge.http.changes.framed import CHANGES, SNAPSHOT, framed
from app.edge.http.changes.shown import ShownRows, difference, whole
from app.edge.http.long_work import MANY_DOCUMENTS, LongWork

KEPT_BYTES, KEPT = 4_000_000, 2
"""Of events that lead to the same rows, so many bytes are kept, and in any case the two that were told last, for which
most clients ask. Others, for clients that have stayed behind, each somewhere else, are made again."""


class SharedEvents:
    """What leads to the answer of now, by the digest of the rows before it; None is without any."""

    def __init__(self, long_work: LongWork) -> None:
        self._long_work = long_work
        self._now: ShownRows | None = None
        self._made: OrderedDict[str | None, asyncio.Task[bytes]] = OrderedDict()

    @property
    def kept_bytes(self) -> int:
        """Of those that are made and kept for who comes next. Who is given one has hold of it besides."""
        return sum(len(one.result()) for one in self._made.values() if _is_made(one))

    async def leading_to(self, now: ShownRows, before: ShownRows | None = None) -> bytes:
        """The snapshot, or what changed. One who waits for it and leaves breaks it off for nobody else."""
        if now is not self._now:
            self._now, self._made = now, OrderedDict()
        known = None if before is None else before.digest
        if known not in self._made:
            self._made[known] = asyncio.create_task(self._make(now, before))
        self._made.move_to_end(known)
        making = self._made[known]
        while len(self._made) > KEPT and self.kept_bytes > KEPT_BYTES:
            self._made.popitem(last=False)
        return await asyncio.shield(making)

    def end(self) -> None:
        """Nobody listens: keep nothing, and begin nothing more."""
        for making in self._made.values():
            making.cancel()
        self._now, self._made = None, OrderedDict()

    async def _make(self, now: ShownRows, before: ShownRows | None) -> bytes:
        rows = max(len(now.rows), 0 if before is None else len(before.rows))
        return await self._long_work.run(rows > MANY_DOCUMENTS, _event, now, before)


def _event(now: ShownRows, before: ShownRows | None) -> bytes:
    if before is None:
        return framed(SNAPSHOT, *whole(now), digest=now.digest)
    return framed(CHANGES, *difference(before, now), digest=now.digest)


def _is_made(making: asyncio.Task[bytes]) -> bool:
    return making.done() and not making.cancelled() and making.exception() is None
