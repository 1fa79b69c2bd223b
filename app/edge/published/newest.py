"""The last records of a topic's partitions, page by page towards its beginning; none twice, none left out.

Within a partition later offsets come first; of two partitions' records that with the later Kafka timestamp.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple

from app.domain.records import TopicPartition
from app.engine.core.batch import Batch

MOST_STEP_OFFSETS = 50_000
"""ReadOffsets at once: as many as a reader gives."""
MOST_OFFSETS = 400_000
"""Of a partition for one page: so many without a record, and the page ends with what there is."""

ReadOffsets = Callable[[TopicPartition, int, int], Awaitable[Batch]]
"""These offsets of a topic-partition, which the log must have."""


class Newest(NamedTuple):
    """A record of a page."""

    batch: Batch
    at: int

    @property
    def offset(self) -> int:
        return int(self.batch.offsets[self.at])

    @property
    def timestamp_ms(self) -> int:
        return int(self.batch.timestamps_ms[self.at])

    @property
    def value(self) -> bytes | None:
        return self.batch.values[self.at]


class NewestPage(NamedTuple):
    """Records, the newest first, and behind which offsets the next page ends; none where nothing is left."""

    records: list[Newest]
    ends: Mapping[int, int] | None


async def newest(
    read: ReadOffsets, topic: str, starts: Mapping[int, int], ends: Mapping[int, int], limit: int
) -> NewestPage:
    """The last `limit` records below `ends`, of partitions whose logs begin at `starts`."""
    open_ends = {p: end for p, end in ends.items() if end > starts[p]}
    backwards = [_Backwards(read, TopicPartition(topic, p), starts[p], end) for p, end in open_ends.items()]
    await asyncio.gather(*(one.read_back(limit) for one in backwards))
    records: list[Newest] = []
    while len(records) < limit and (there := [one for one in backwards if one.next is not None]):
        if any(one.is_cut for one in backwards if one.next is None):
            break  # what it has further below may be newer
        records.append(max(there, key=_Backwards.time).take())
    left = {one.place.partition: one.end for one in backwards if one.end > one.start}
    return NewestPage(records, {**ends, **dict.fromkeys(open_ends, 0), **left} if left else None)


class _Backwards:
    """One partition: what was read of it and not taken ends at `end`."""

    def __init__(self, read: ReadOffsets, place: TopicPartition, start: int, end: int) -> None:
        self._read, self.place, self.start, self.end = read, place, start, end
        self._below, self._batches = end, list[Batch]()
        self._left: Iterator[Newest] = iter(())
        self.next: Newest | None = None

    @property
    def is_cut(self) -> bool:
        """Whether not all was read, though nothing that was read is left."""
        return self._below > self.start

    async def read_back(self, count: int) -> None:
        """So many records, or all there are, or as many offsets as a page may cost."""
        found, step, least = 0, max(count, 1), max(self.start, self.end - MOST_OFFSETS)
        while found < count and self._below > least:
            begin = max(least, self._below - step)
            batch = await self._read(self.place, begin, self._below)
            self._batches.append(batch)
            found, self._below, step = found + len(batch), begin, min(4 * step, MOST_STEP_OFFSETS)
        self._left = (Newest(batch, at) for batch in self._batches for at in reversed(range(len(batch))))
        self._advance()

    def time(self) -> tuple[int, int]:
        """Of the next record, with its partition: no two are alike."""
        assert self.next is not None
        return self.next.timestamp_ms, self.place.partition

    def take(self) -> Newest:
        """The next record, which is of the page then."""
        taken = self.next
        assert taken is not None
        self.end = taken.offset
        self._advance()
        return taken

    def _advance(self) -> None:
        self.next = next(self._left, None)
        if self.next is None:
            self.end = self._below
