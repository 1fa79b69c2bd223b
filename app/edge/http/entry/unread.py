"""Answers that their clients have yet to take: so many bytes of them in a worker at most.

An answer leaves its gate as soon as it is made, and lies in memory until its client has it. It is written in pieces, so
that little of it lies in the buffer of its connection a second time, and that it shows whose client goes on reading.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aiohttp.web_protocol import RequestHandler

PIECE_BYTES = 1 << 17
"""More than those 64 KB for which aiohttp does not wait until the client has them."""
READING_SECONDS = 0.25
"""Whose client took a piece within it is reading."""

Write = Callable[[memoryview], Awaitable[None]]


@dataclass(slots=True)
class Unread:
    """What a connection holds, and since when its client took none of it."""

    size_bytes: int
    since: float


class UnreadAnswers:
    """Of one worker, by connection, which has one at a time."""

    def __init__(self, most_bytes: int, now: Callable[[], float] = time.monotonic) -> None:
        self.most_bytes, self._now = most_bytes, now
        self._held: dict[RequestHandler, Unread] = {}

    @property
    def size_bytes(self) -> int:
        """Of all of them, each as long as any of it is left."""
        return sum(one.size_bytes for one in self._held.values())

    def has_room(self, size_bytes: int) -> bool:
        """For one more; one that is larger than all may be has the room to itself."""
        return not self._held or self.size_bytes + size_bytes <= self.most_bytes

    @contextmanager
    def held(self, protocol: RequestHandler, size_bytes: int) -> Iterator[None]:
        """It lies in memory."""
        self._held[protocol] = Unread(size_bytes, self._now())
        try:
            yield
        finally:
            self._held.pop(protocol, None)

    def took(self, protocol: RequestHandler) -> None:
        """Its client has another piece."""
        if (one := self._held.get(protocol)) is not None:
            one.since = self._now()

    def in_the_way(self, size_bytes: int = 0) -> Iterator[RequestHandler]:
        """Whom to close for so many bytes more: clients that take nothing, for which most is held for the longest.
        They count no more."""
        now = self._now()
        stalled = {at: one for at, one in self._held.items() if now - one.since >= READING_SECONDS}
        for protocol in sorted(stalled, key=lambda at: stalled[at].size_bytes * (stalled[at].since - now)):
            if self.has_room(size_bytes):
                return
            del self._held[protocol]
            yield protocol


def pieces(body: bytes) -> Iterable[memoryview]:
    """All of it, to be written one after the other."""
    whole = memoryview(body)
    return (whole[at : at + PIECE_BYTES] for at in range(0, len(whole), PIECE_BYTES))
