"""Which records were refused for what may be different now, an unknown schema say: that stays so (rule 15)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Set

from app.base import names
from app.codecs.batches import origin_headers
from app.domain.records import TopicPartition
from app.engine.core.batch import Batch
from app.engine.drive.kafka.changelog_reader import read_to_end
from app.engine.drive.kafka.connections import Connections


class RefusedThen:
    """Tells from the quarantine topic; each look reads on from where the one before it ended."""

    def __init__(self, application: str, connections: Connections) -> None:
        self._topic = names.quarantine_topic(application)
        self._connections = connections
        self._read_to: dict[int, int] = {}
        self._offsets: dict[TopicPartition, set[int]] = defaultdict(set)
        self._reading = asyncio.Lock()

    async def of(self, place: TopicPartition) -> Set[int]:
        """Offsets of such records in a topic-partition, all that are told of now."""
        async with self._reading:  # tasks of one source ask side by side
            await self._read_on()
        return self._offsets[place]

    async def _read_on(self) -> None:
        cluster = self._connections.cluster
        facts = await asyncio.to_thread(cluster.topics, [self._topic])
        places = [TopicPartition(self._topic, p) for p in range(facts[self._topic].partitions)]
        starts, ends = await asyncio.gather(
            asyncio.to_thread(cluster.log_starts, places), asyncio.to_thread(cluster.log_ends, places, committed=False)
        )
        begin = {place.partition: max(at, self._read_to.get(place.partition, 0)) for place, at in starts.items()}
        end = {place.partition: at for place, at in ends.items()}
        await read_to_end(self._connections.client, self._topic, begin, end, self._take)
        self._read_to = end

    def _take(self, batch: Batch) -> None:
        for headers in batch.headers:
            refused = origin_headers.refused_then(headers)
            if refused is not None:
                place, _ = refused
                self._offsets[TopicPartition(place.topic, place.partition)].add(place.offset)
