"""Records as runs of offsets: how a batch that was lost or doubled is told in one line."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from app.domain.fingerprint import OFFSET_BITS, unpack
from app.domain.source import Source


@dataclass(frozen=True, slots=True)
class OffsetRun:
    """Records of one topic-partition that follow one another among those that were looked at, both ends included."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    record_count: int

    def __str__(self) -> str:
        if self.record_count == 1:
            return f"{self.topic}[{self.partition}] offset {self.first_offset}"
        offsets = f"{self.first_offset}-{self.last_offset}"
        return f"{self.topic}[{self.partition}] offsets {offsets}, {self.record_count:,} records"


def runs_of(source: Source, named: Sequence[int], among: Sequence[int] = ()) -> tuple[OffsetRun, ...]:
    """The named records as runs: between two records of one stands none of `among` that is not named, too.

    Both are packed origins, in ascending order; without `among` every offset between two records ends a run.
    """
    topics = {topic.number: topic.name for topic in source.topics}
    found = []
    for run in _unbroken(named, among):
        number, partition, first = unpack(run[0])
        found.append(OffsetRun(topics[number], partition, first, unpack(run[-1]).offset, len(run)))
    return tuple(found)


def by_topic_partition(packed: Sequence[int]) -> Iterator[tuple[int, int]]:
    """From where to where the records of each topic-partition stand in ascending packed origins."""
    begun = 0
    for _, some in groupby(packed, lambda one: one >> OFFSET_BITS):
        end = begun + sum(1 for _ in some)
        yield begun, end
        begun = end


def _unbroken(named: Sequence[int], among: Sequence[int]) -> Iterator[Sequence[int]]:
    begun = 0
    for at in range(1, len(named) + 1):
        if at == len(named) or not _follows(named[at - 1], named[at], among):
            yield named[begun:at]
            begun = at


def _follows(one: int, other: int, among: Sequence[int]) -> bool:
    if one >> OFFSET_BITS != other >> OFFSET_BITS:
        return False
    if other == one + 1:
        return True
    at = bisect_left(among, one)
    return [*among[at : at + 2]] == [one, other]
