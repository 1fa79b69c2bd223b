"""What a join or an alert remembers: halves that wait, and ids that are taken."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from app.codecs.stored.halves import StoredHalf
from app.domain.pairs.join import Side
from app.domain.records import Value

HalfPlace = tuple[Side, int]


class Halves:
    """Halves by place and by id, and in order of time: those that wait apart from those that are only remembered."""

    def __init__(self) -> None:
        self._held: dict[HalfPlace, StoredHalf] = {}
        self._by_id: dict[tuple[Side, Value], list[int]] = defaultdict(list)
        self._in_time: dict[tuple[Side, bool], list[tuple[int, int]]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[StoredHalf]:
        return iter(self._held.values())

    def __contains__(self, place: HalfPlace) -> bool:
        return place in self._held

    def at(self, place: HalfPlace) -> StoredHalf | None:
        """The half of a place, if there is one."""
        return self._held.get(place)

    def of_id(self, side: Side, id: Value) -> Sequence[int]:
        """Offsets of the halves of one side and id."""
        return self._by_id.get((side, id), ())

    def in_time(self, side: Side) -> Sequence[tuple[int, int]]:
        """Time and offset of the halves of a side that wait, the earliest first."""
        return self._in_time[side, True]

    def until(self, side: Side, at_us: int, *, waiting: bool) -> list[StoredHalf]:
        """Halves that happened at or before an instant, the earliest first."""
        held = self._in_time[side, waiting]
        return [self._held[side, offset] for _, offset in held[: bisect_right(held, at_us, key=lambda h: h[0])]]

    def put(self, halves: Sequence[StoredHalf]) -> None:
        """Add halves, or replace those of the same places."""
        self.remove([place for half in halves if (place := (half.side, half.offset)) in self._held])
        added: dict[tuple[Side, bool], list[tuple[int, int]]] = defaultdict(list)
        for half in halves:
            self._held[half.side, half.offset] = half
            self._by_id[half.side, half.id].append(half.offset)
            added[half.side, half.waiting is not None].append((half.at_us, half.offset))
        for which, places in added.items():
            self._in_time[which] += places
            self._in_time[which].sort()  # of what is in order already but for its end: one pass

    def remove(self, places: Iterable[HalfPlace]) -> None:
        """Forget halves; places where none is are passed over."""
        gone: dict[tuple[Side, bool], set[tuple[int, int]]] = defaultdict(set)
        for place in places:
            half = self._held.pop(place, None)
            if half is None:
                continue
            same = self._by_id[half.side, half.id]
            same.remove(half.offset)
            if not same:
                del self._by_id[half.side, half.id]
            gone[half.side, half.waiting is not None].add((half.at_us, half.offset))
        for which, times in gone.items():
            self._in_time[which] = [held for held in self._in_time[which] if held not in times]
