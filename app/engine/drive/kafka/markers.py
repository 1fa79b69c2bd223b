"""The last committed marker of each task, read from the end of its changelog partition; and what stands beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable

from app.base import names
from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import decode_marker
from app.domain.marker import Marker
from app.domain.records import TopicPartition
from app.engine.core.batch import Batch
from app.engine.core.begun import begun_in
from app.engine.core.definition import TaskDefinition
from app.engine.drive.kafka.changelog_reader import read_to_end
from app.engine.drive.kafka.connections import Connections

FIRST_LOOK = 2
"""A marker is the last record of its transaction, and a control record follows it."""
LOOK_FURTHER = 100


async def last_markers(
    definition: TaskDefinition, connections: Connections, partitions: Iterable[int]
) -> dict[int, Marker]:
    """The marker that each task committed last; none for a task that has committed nothing."""
    topic = names.changelog_topic(definition.application, definition.name)
    places = {p: TopicPartition(topic, p) for p in partitions}
    ends, starts = await asyncio.gather(
        asyncio.to_thread(connections.cluster.log_ends, places.values(), committed=True),
        asyncio.to_thread(connections.cluster.log_starts, places.values()),
    )
    key, found = marker_key(definition.number), dict[int, Marker]()

    def take(batch: Batch) -> None:
        for at in range(len(batch) - 1, -1, -1):
            value = batch.values[at]
            if batch.keys[at] == key and value is not None:
                found[batch.partition] = decode_marker(value)
                return

    back, missing = FIRST_LOOK, dict(places)
    while missing:
        begin = {p: max(starts[place], ends[place] - back) for p, place in missing.items()}
        await read_to_end(connections.client, topic, begin, {p: ends[place] for p, place in missing.items()}, take)
        missing = {p: place for p, place in missing.items() if p not in found and begin[p] > starts[place]}
        back *= LOOK_FURTHER
    return found


async def begun_of(definition: TaskDefinition, connections: Connections, partitions: Collection[int]) -> dict[int, str]:
    """The id of the changelog in which each task has begun; none for a task that has not."""
    topic = names.begun_topic(definition.application)
    places = [TopicPartition(topic, p) for p in partitions]
    ends, starts = await asyncio.gather(
        asyncio.to_thread(connections.cluster.log_ends, places, committed=False),
        asyncio.to_thread(connections.cluster.log_starts, places),
    )
    found = dict[int, str]()

    def take(batch: Batch) -> None:
        if (told := begun_in(definition, batch)) is not None:
            found[batch.partition] = told

    begin, end = ({place.partition: at for place, at in some.items()} for some in (starts, ends))
    await read_to_end(connections.client, topic, begin, end, take)
    return found
