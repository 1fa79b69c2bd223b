"""Halves while a batch is planned: what is committed, and what the batch has changed so far."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from app.codecs.stored.halves import StoredHalf, encode_half, half_key
from app.domain.pairs.joined import Side
from app.domain.pairs.pairing import Pairing
from app.domain.records import Value
from app.engine.core.draft import Draft
from app.engine.core.rows.halves import HalfPlace, Halves
from app.engine.core.task_state import TaskState

_SIDES = (Side.LEFT, Side.RIGHT)


class WorkingHalves:
    """Changes over halves that stay as they are; `changed` is what they come to, None for one that goes."""

    def __init__(self, held: Halves) -> None:
        self._held = held
        self.changed: dict[HalfPlace, StoredHalf | None] = {}
        self._new: dict[Side, dict[Value, tuple[int, ...]]] = {side: {} for side in _SIDES}
        self._stored = [held.in_time(side) for side in _SIDES]
        # (time, number of the side, offset, which of the stored ones; -1: of this batch): the next of each side. Tuples
        # of numbers, which the garbage collector need not visit
        self._waiting = [(*places[0][:1], side, places[0][1], 0) for side, places in enumerate(self._stored) if places]
        heapq.heapify(self._waiting)

    def of_id(self, side: Side, id: Value) -> list[StoredHalf]:
        """Halves of one side and id, in the order in which they came."""
        stored, new = self._held.of_id(side, id), self._new[side].get(id, ())
        if not stored and not new:  # as for most
            return []
        now = [self.at((side, offset)) for offset in (*stored, *new)]
        return [half for half in now if half is not None]

    def at(self, place: HalfPlace) -> StoredHalf | None:
        """The half of a place as it is by now."""
        return self.changed[place] if place in self.changed else self._held.at(place)

    def come(self, half: StoredHalf) -> None:
        """Add a half that was not there."""
        new = self._new[half.side]
        new[half.id] = (*new.get(half.id, ()), half.offset)
        self.changed[half.side, half.offset] = half
        if half.waiting is not None:
            heapq.heappush(self._waiting, (half.at_us, _SIDES.index(half.side), half.offset, -1))

    def change(self, half: StoredHalf) -> None:
        """Put a half in its own place."""
        self.changed[half.side, half.offset] = half

    def go(self, half: StoredHalf) -> None:
        """Forget a half."""
        self.changed[half.side, half.offset] = None

    def is_over(self, at_us: int) -> bool:
        """Whether `waiting_until` may have something to give."""
        return bool(self._waiting) and self._waiting[0][0] <= at_us

    def waiting_until(self, at_us: int, most: int | None = None) -> Iterator[StoredHalf]:
        """Halves that wait and happened at or before an instant, the earliest first; each is given once.

        At most so many; None: all.
        """
        given = 0
        while self._waiting and self._waiting[0][0] <= at_us and given != most:
            _, side, offset, which = heapq.heappop(self._waiting)
            if 0 <= which < len(self._stored[side]) - 1:
                following_us, following = self._stored[side][which + 1]
                heapq.heappush(self._waiting, (following_us, side, following, which + 1))
            half = self.at((_SIDES[side], offset))
            if half is not None and half.waiting is not None:
                given += 1
                yield half


@dataclass(frozen=True, slots=True)
class HalvesChanged:
    """Halves of a join or alert that came or changed, and those that are forgotten."""

    of: str
    put: list[StoredHalf]
    removed: list[HalfPlace]

    def swap_in(self, state: TaskState) -> None:
        state.halves[self.of].put(self.put)
        state.halves[self.of].remove(self.removed)


def keep_halves(draft: Draft, of: Pairing, halves: WorkingHalves) -> None:
    """Put what halves have come to into the transaction; of those that came and went within it nothing is written."""
    put = [half for half in halves.changed.values() if half is not None]
    gone = [place for place, half in halves.changed.items() if half is None and place in draft.state.halves[of.name]]
    for half in put:
        draft.keep(half_key(of, half.side, half.offset), encode_half(half))
    for place in gone:
        draft.keep(half_key(of, *place), None)
    if put or gone:
        draft.effects.append(HalvesChanged(of.name, put, gone))
