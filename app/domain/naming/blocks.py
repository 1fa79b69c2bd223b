"""A task's blocks (rule 12): where in its topics what it applied is not what it should have applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.fingerprint import BITS_64, BLOCK_SIZE, Origin, pack
from app.domain.naming.surplus import Surplus
from app.domain.source import Source


class BlockPlace(NamedTuple):
    """65,536 consecutive offsets of a topic-partition."""

    topic_number: int
    partition: int
    block: int

    @property
    def bounds(self) -> tuple[int, int]:
        """Its first and last origin, packed."""
        first = self.block * BLOCK_SIZE
        at = (self.topic_number, self.partition)
        return pack(Origin(*at, first)), pack(Origin(*at, first + BLOCK_SIZE - 1))


BlockTotals = Mapping[BlockPlace, tuple[int, int]]
"""Count and fingerprint of what a view applied of each block."""


@dataclass(frozen=True, slots=True)
class OffBlock:
    """A block of which a task says that it applied other records than it should have."""

    place: BlockPlace
    surplus: Surplus

    def told(self, source: Source) -> dict[str, str | int]:
        """In a report's words."""
        topic = next(topic.name for topic in source.topics if topic.number == self.place.topic_number)
        first = self.place.block * BLOCK_SIZE
        return {
            "topic": topic,
            "partition": self.place.partition,
            "first_offset": first,
            "last_offset": first + BLOCK_SIZE - 1,
            "surplus": self.surplus.records,
        }


def off_blocks(stored: BlockTotals, recomputed: BlockTotals) -> dict[int, tuple[OffBlock, ...]]:
    """By task what differs, in order. A task that has no blocks stored says nothing of what it applied."""
    tasks = {place.partition for place in stored}
    found: dict[int, tuple[OffBlock, ...]] = dict.fromkeys(tasks, ())
    for place in sorted({*stored, *recomputed}):
        (have, have_mixes), (due, due_mixes) = stored.get(place, (0, 0)), recomputed.get(place, (0, 0))
        surplus = Surplus(have - due, (have_mixes - due_mixes) & BITS_64)
        if place.partition in tasks and surplus != (0, 0):
            found[place.partition] = (*found[place.partition], OffBlock(place, surplus))
    return found


def bounds_of(blocks: Iterable[OffBlock]) -> list[tuple[int, int]]:
    """First and last origin of each."""
    return [one.place.bounds for one in blocks]
