"""What a lane remembers under which key: for so long, and so much at most."""

from __future__ import annotations

import zlib

from app.domain.errors import FlagfallError
from app.edge.intake.wanted import Reply, read_reply

OVERHEAD_BYTES = 300
"""What an entry takes beside its texts."""


FASTEST = 1
"""Of zlib's levels: what became of thousands of records is long, and much alike."""


class MemoryFull(FlagfallError):
    """As many keys are remembered as may be: the first of them will be forgotten in `wait_seconds`."""

    def __init__(self, why: str, wait_seconds: int) -> None:
        super().__init__(why)
        self.wait_seconds = wait_seconds


class Memory:
    """Entries leave in the order in which they came, when they are so old."""

    def __init__(self, lifetime_ms: int, most_bytes: int) -> None:
        self._lifetime_ms, self._most_bytes = lifetime_ms, most_bytes
        self._held: dict[str, tuple[int, bytes]] = {}
        self._bytes = 0

    def find(self, key: str) -> Reply | None:
        found = self._held.get(key)
        return None if found is None else read_reply(zlib.decompress(found[1]))

    def require_room(self, now_ms: int) -> None:
        """Forgets what is old enough. MemoryFull where there is no room then."""
        left_ms = 0
        while self._held:
            key, (came_ms, _) = next(iter(self._held.items()))
            if (left_ms := came_ms + self._lifetime_ms - now_ms) > 0:
                break
            self._forget(key)
        if self._bytes >= self._most_bytes:
            told = f"{len(self._held):,} keys are remembered, in {self._bytes:,} bytes"
            raise MemoryFull(told, -(-left_ms // 1_000))

    def keep(self, key: str, text: bytes, came_ms: int) -> None:
        self._forget(key)
        held = zlib.compress(text, FASTEST)
        self._held[key] = came_ms, held
        self._bytes += _size(key, held)

    def _forget(self, key: str) -> None:
        if (found := self._held.pop(key, None)) is not None:
            self._bytes -= _size(key, found[1])


def _size(key: str, text: bytes) -> int:
    return len(key) + len(text) + OVERHEAD_BYTES
