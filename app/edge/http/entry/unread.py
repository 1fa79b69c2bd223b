"""Answers that their clients have yet to take: so many bytes of them in a worker at most.

An answer leaves its gate as soon as it is made, and lies in memory until its client has it. It is written in pieces, so
that little of it lies in the buffer of its connection a second time, and that it shows whose client goes on reading.
One that many clients are given, as an event of a stream, lies in memory once, and pieces of it in each one's buffer.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aiohttp.web_protocol import RequestHandler

PIECE_BYTES = 1 << 17
"""More than those 64 KB for which aiohttp does not wait until the client has them."""
READING_SECONDS = 0.25
"""Whose client took a piece within it is reading."""
BUFFERED_BYTES = 2 * PIECE_BYTES
"""Of an answer lie in the buffers of its connection at most."""

Write = Callable[[memoryview], Awaitable[None]]


@dataclass(slots=True)
class Unread:
    """What a connection holds, and since when its client took none of it."""

    body: bytes
    since: float


class UnreadAnswers:
    """Of one worker, by connection, which has one at a time."""

    def __init__(self, most_bytes: int, now: Callable[[], float] = time.monotonic) -> None:
        self.most_bytes, self._now = most_bytes, now
        self.size_bytes = 0
        """Of all of them, each as long as any of it is left."""
        self._held: dict[RequestHandler, Unread] = {}
        self._holders = Counter[int]()  # of each body, by its identity

    def has_room(self, size_bytes: int) -> bool:
        """For one more; one that is larger than all may be has the room to itself."""
        return not self._held or self.size_bytes + size_bytes <= self.most_bytes

    @contextmanager
    def held(self, protocol: RequestHandler, body: bytes) -> Iterator[None]:
        """It lies in memory: once, however many connections hold it."""
        self.size_bytes += _buffered(body) if self._holders[id(body)] else len(body)
        self._holders[id(body)] += 1
        self._held[protocol] = Unread(body, self._now())
        try:
            yield
        finally:
            if protocol in self._held:
                self._let_go(protocol)

    def took(self, protocol: RequestHandler) -> None:
        """Its client has another piece."""
        if (one := self._held.get(protocol)) is not None:
            one.since = self._now()

    def in_the_way(self, size_bytes: int = 0) -> Iterator[RequestHandler]:
        """Whom to close for so many bytes more: clients that take nothing, for which most is held for the longest.
        They count no more."""
        if self.has_room(size_bytes):
            return
        now = self._now()
        stalled = {at: one for at, one in self._held.items() if now - one.since >= READING_SECONDS}
        for protocol in sorted(stalled, key=lambda at: self._share(stalled[at].body) * (stalled[at].since - now)):
            if self.has_room(size_bytes):
                return
            self._let_go(protocol)
            yield protocol

    def _let_go(self, protocol: RequestHandler) -> None:
        body = self._held.pop(protocol).body
        self._holders[id(body)] -= 1
        self.size_bytes -= _buffered(body) if self._holders[id(body)] else len(body)
        if not self._holders[id(body)]:
            del self._holders[id(body)]

    def _share(self, body: bytes) -> float:
        """What each of those who hold it is charged with."""
        holders = self._holders[id(body)]
        return (len(body) + (holders - 1) * _buffered(body)) / holders


def pieces(body: bytes) -> Iterable[memoryview]:
    """All of it, to be written one after the other."""
    whole = memoryview(body)
    return (whole[at : at + PIECE_BYTES] for at in range(0, len(whole), PIECE_BYTES))


def _buffered(body: bytes) -> int:
    """What lies in the buffers of a connection at most, beside the body."""
    return min(len(body), BUFFERED_BYTES)
