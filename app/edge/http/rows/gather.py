"""One answer from all tasks: parts of those owned here are copied, the others' asked of their owners.

What could not be had is named, with why: the caller refuses, or says that the answer is partial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.event_time import NO_WATERMARK
from app.domain.records import TopicPartition
from app.edge.http.context import Edge
from app.edge.http.owners import of_all_tasks, partitions_missing
from app.edge.http.problems import TYPES
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.own_parts import own_parts, too_much_there
from app.edge.http.rows.parts import Part, decode_parts

MANY_BYTES = 500_000
"""A longer answer is read in a thread: this takes about 5 ms."""


@dataclass
class Gathered:
    """Parts by partition, and why each of the other partitions is missing."""

    parts: dict[int, Part] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)

    @property
    def is_partial(self) -> bool:
        return bool(self.missing)

    @property
    def lowest_watermark_us(self) -> int:
        """Up to where every input of every partition was seen; NO_WATERMARK if one is missing or empty."""
        seen = [state.watermark_us for part in self.parts.values() for state in part.inputs.values()]
        return NO_WATERMARK if self.missing or not seen else min(seen)

    @property
    def held_back_by(self) -> list[TopicPartition]:
        """Those of the lowest watermark while others are ahead; an empty one has none, which is lower still.

        None while a partition is missing: that is what holds the rest back then.
        """
        seen = {
            TopicPartition(topic, partition): state.watermark_us
            for partition, part in sorted(self.parts.items())
            for topic, state in sorted(part.inputs.items())
        }
        lowest_us, highest_us = min(seen.values(), default=0), max(seen.values(), default=0)
        return (
            [] if self.missing or lowest_us == highest_us else sorted(at for at, us in seen.items() if us == lowest_us)
        )

    @property
    def closed_to_us(self) -> int:
        """Windows that end at or before it take no more records anywhere; NO_WATERMARK if one partition is missing."""
        closed = [state.closed_to_us for part in self.parts.values() for state in part.inputs.values()]
        return NO_WATERMARK if self.missing or not closed else min(closed)


async def gather(edge: Edge, query: RowsQuery) -> Gathered:
    """The parts of every partition of the source that can be had within two attempts.

    Raises the `partitions-missing` problem if some are missing and the query does not allow it, and `too-much` if a
    worker would have to fold more rows than it may, here or there.
    """
    gathered = Gathered(*await of_all_tasks(edge, _AskedParts(edge, query)))
    if gathered.is_partial and not query.partial_allowed:
        raise partitions_missing(query.view.name, edge.directory(query.view), gathered.missing)
    return gathered


class _AskedParts:
    """The parts of a query."""

    def __init__(self, edge: Edge, query: RowsQuery) -> None:
        self._edge, self._query = edge, query
        self.directory = edge.directory(query.view)
        self.address = f"/v1/internal/views/{query.view.name}/parts"
        self.not_given = f"does not hold version {query.view.version} of it now"

    def parameters(self) -> list[tuple[str, str]]:
        return self._query.parameters()

    async def own(self, partitions: Sequence[int]) -> Mapping[int, Part]:
        return {part.partition: part for part in await own_parts(self._edge, self._query, partitions)}

    async def read(self, url: str, status: int, body: bytes) -> Mapping[int, Part]:
        if status == TYPES["too-much"].status:
            raise too_much_there(url, body)
        if status != 200:
            raise ValueError(f"it answered {status}")
        view = self._query.view
        given = await self._edge.long_work.run(len(body) > MANY_BYTES, decode_parts, view, body)
        return {part.partition: part for part in given if part.version == view.version}
