"""Reads again, from the log, what a task has read already: for views that are new to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from app.base import names
from app.codecs.stored.advances import read_advance
from app.domain.advance import Advance
from app.domain.errors import StateError
from app.domain.records import TopicPartition
from app.engine.core.batch import Batch
from app.engine.core.building import Stretch
from app.engine.drive.kafka.changelog_reader import read_to_end
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.refused_then import RefusedThen

STRETCH_OFFSETS = 50_000
"""Most offsets that are read again at once; more than a batch holds, so that a building view catches up."""


class Rereader:
    """Stretches of the inputs of one application's tasks, with the advances that hold in them."""

    def __init__(self, application: str, connections: Connections) -> None:
        self._advances_topic = names.advances_topic(application)
        self._connections = connections
        self._refused_then = RefusedThen(application, connections)

    async def read(self, stretch: Stretch, partition: int) -> tuple[Batch, Sequence[Advance]]:
        """The stretch, or its first part, and every advance of its topic-partition. StateError if it is gone.

        What its task refused for what may be different now comes without its value: it stays refused.
        """
        return await self.records(stretch, partition), await self.advances(stretch.topic, partition)

    async def records(self, stretch: Stretch, partition: int) -> Batch:
        """As `read`, without the advances."""
        place = TopicPartition(stretch.topic, partition)
        await self._check_start(place, stretch.from_offset)
        return await self.between(place, stretch.from_offset, stretch.to_offset)

    async def between(self, place: TopicPartition, from_offset: int, to_offset: int) -> Batch:
        """These offsets, or their first part, as they were read first: what was refused then is empty. The log must
        have them."""
        batch = await self.as_they_stand(place, from_offset, to_offset)
        refused = await self._refused_then.of(place)
        return batch.emptied(refused) if refused else batch

    async def as_they_stand(self, place: TopicPartition, from_offset: int, to_offset: int) -> Batch:
        """These offsets, or their first part; the log must have them."""
        until = min(to_offset, from_offset + STRETCH_OFFSETS)
        batches: list[Batch] = []
        client, partition = self._connections.client, place.partition
        await read_to_end(client, place.topic, {partition: from_offset}, {partition: until}, batches.append)
        return Batch.joined(batches).until(until)

    async def _check_start(self, place: TopicPartition, from_offset: int) -> None:
        start = (await asyncio.to_thread(self._connections.cluster.log_starts, [place]))[place]
        if start > from_offset:
            raise StateError(
                f"{place}: the log begins at offset {start}, but a view that is being built has read only to "
                f"{from_offset}. Stop the workers and run `flagfall rebuild`, so that it begins anew"
            )

    async def advances(self, topic: str, partition: int) -> list[Advance]:
        """Every advance that was written for a topic-partition."""
        return [a for a in await self.all_advances() if (a.topic, a.partition) == (topic, partition)]

    async def all_advances(self) -> list[Advance]:
        """Every advance that was written."""
        facts = await asyncio.to_thread(self._connections.cluster.topics, [self._advances_topic])
        places = [TopicPartition(self._advances_topic, p) for p in range(facts[self._advances_topic].partitions)]
        ends, starts = await asyncio.gather(
            asyncio.to_thread(self._connections.cluster.log_ends, places, committed=False),
            asyncio.to_thread(self._connections.cluster.log_starts, places),
        )
        found: list[Advance] = []

        def take(batch: Batch) -> None:
            found.extend(filter(None, map(read_advance, batch.values)))

        await read_to_end(
            self._connections.client,
            self._advances_topic,
            {place.partition: at for place, at in starts.items()},
            {place.partition: at for place, at in ends.items()},
            take,
        )
        return found
