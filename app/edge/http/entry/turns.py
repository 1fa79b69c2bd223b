"""Places that callers share, and the line before them, in which callers take turns."""

from __future__ import annotations

import asyncio
from collections import Counter, deque


class Turns:
    """`most` places, and `most_waiting` more in line.

    Of those in line whose caller has the fewest places goes first, then whose caller's turn it is: one that gave a
    place back is behind the others. Where places are `shared` a caller takes no more of them, and of the line, than
    it leaves free: alone it has half, and however many it asks for there is one for somebody else.
    """

    def __init__(self, most: int, most_waiting: int, *, shared: bool) -> None:
        self._most, self._most_waiting, self._shared = most, most_waiting, shared
        self._of = Counter[str]()
        self._line: dict[str, deque[asyncio.Future[None]]] = {}  # by caller, the one whose turn it is first
        self.inside = self.waiting = 0

    @property
    def are_taken(self) -> bool:
        """All places."""
        return self.inside >= self._most

    def take(self, caller: str) -> bool:
        """Whether there is a place, which the caller has then. None that is in line could have it."""
        is_free = self._may_have(caller)
        if is_free:
            self._let_in(caller)
        return is_free

    def line_up(self, caller: str) -> asyncio.Future[None] | None:
        """Done when the caller has a place; None where it may not stand in line. Who waits for it shields it."""
        if not self._fits(len(self._line.get(caller, ())), self.waiting, self._most_waiting):
            return None
        place = asyncio.get_running_loop().create_future()
        self._line.setdefault(caller, deque()).append(place)
        self.waiting += 1
        return place

    def leave(self, caller: str) -> None:
        """Give a place back, to whose turn it is."""
        self.inside -= 1
        self._of[caller] -= 1
        if not self._of[caller]:
            del self._of[caller]
        if caller in self._line:
            self._line[caller] = self._line.pop(caller)  # behind the others
        while (following := self._next()) is not None:
            self._step_out(following, place := self._line[following][0])
            self._let_in(following)
            place.set_result(None)

    def give_up(self, caller: str, place: asyncio.Future[None]) -> None:
        """Of who waits no more: leave the line, or the place that came too late."""
        if place.done():
            self.leave(caller)
        else:
            self._step_out(caller, place)

    def _let_in(self, caller: str) -> None:
        self._of[caller] += 1
        self.inside += 1

    def _step_out(self, caller: str, place: asyncio.Future[None]) -> None:
        self._line[caller].remove(place)
        self.waiting -= 1
        if not self._line[caller]:
            del self._line[caller]

    def _next(self) -> str | None:
        return min(filter(self._may_have, self._line), key=self._of.__getitem__, default=None)

    def _may_have(self, caller: str) -> bool:
        return self._fits(self._of[caller], self.inside, self._most)

    def _fits(self, own: int, taken: int, most: int) -> bool:
        free = most - taken
        return own < free if self._shared else free > 0
