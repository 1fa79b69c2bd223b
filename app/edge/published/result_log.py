"""The topics of results as they stand: read committed, by no consumer group."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from app.codecs.avro.schema import Schemas
from app.domain.records import TopicPartition
from app.edge.published.newest import Newest
from app.engine.core.batch import Batch
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.rereading import Rereader

Offsets = Mapping[int, int]
"""By partition."""


class ResultLog:
    """Of one application."""

    def __init__(self, application: str, connections: Connections) -> None:
        self._connections = connections
        self._rereader = Rereader(application, connections)

    async def bounds(self, topic: str) -> tuple[Offsets, Offsets]:
        """Where each partition begins, and where what is committed ends."""
        cluster = self._connections.cluster
        facts = await asyncio.to_thread(cluster.topics, [topic])
        places = [TopicPartition(topic, p) for p in range(facts[topic].partitions)]
        starts, ends = await asyncio.gather(
            asyncio.to_thread(cluster.log_starts, places), asyncio.to_thread(cluster.log_ends, places, committed=True)
        )
        return _by_partition(starts), _by_partition(ends)

    async def read(self, place: TopicPartition, from_offset: int, to_offset: int) -> Batch:
        """These offsets, which the log must have; 50,000 at most."""
        return await self._rereader.as_they_stand(place, from_offset, to_offset)

    async def schemas(self, records: Iterable[Newest]) -> Schemas:
        """Of all ids that the records name."""
        batches = {id(one.batch): one.batch for one in records}
        ids = {schema_id for batch in batches.values() for schema_id in batch.packed.schema_ids}
        return await self._connections.schemas.having(ids)


def _by_partition(told: Mapping[TopicPartition, int]) -> Offsets:
    return {place.partition: offset for place, offset in told.items()}
