"""A task's inputs as the cluster has them now, held against what its marker remembers of them.

Whatever does not fit stops the task in words: nothing may decide by itself to go on without records, or with others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.base.kafka.cluster import Cluster
from app.domain.errors import StateError
from app.domain.marker import InputPosition
from app.domain.records import TopicPartition


@dataclass(frozen=True, slots=True)
class Input:
    """One input topic-partition: the topic's id, the first offset it still has, and the offset behind its last."""

    place: TopicPartition
    topic_id: str
    start: int
    end: int

    def at_start(self) -> InputPosition:
        """Where a task begins that has no marker."""
        return InputPosition(self.topic_id, self.start, self.start)

    def check(self, marker: InputPosition) -> None:
        """StateError unless the records behind the marker's position are those that the state continues with."""
        if self.topic_id != marker.topic_id:
            raise created_anew(self.place, self.topic_id, marker.topic_id)
        if self.start > marker.next_offset:
            raise log_loss(self.place, self.start, marker.next_offset)
        if self.end < marker.next_offset:
            raise StateError(
                f"{self.place}: LOG_LOSS: the log ends at offset {self.end}, the state at {marker.next_offset}: the "
                "broker lost records that the tables count. Stop the workers and run `flagfall rebuild`, which builds "
                "them from what is left"
            )


async def inputs_of(
    cluster: Cluster, topics: Sequence[str], partitions: Iterable[int], count: int
) -> dict[int, dict[str, Input]]:
    """The inputs of each task, by topic. StateError if a topic has not `count` partitions."""
    places = [TopicPartition(topic, p) for topic in topics for p in partitions]
    facts, starts, ends = await asyncio.gather(
        asyncio.to_thread(cluster.topics, topics),
        asyncio.to_thread(cluster.log_starts, places),
        asyncio.to_thread(cluster.log_ends, places, committed=False),
    )
    for topic, (_, there_are) in facts.items():
        if there_are != count:
            raise other_count(topic, there_are, count)
    found: dict[int, dict[str, Input]] = {p.partition: {} for p in places}
    for place in places:
        found[place.partition][place.topic] = Input(place, facts[place.topic].id, starts[place], ends[place])
    return found


def created_anew(place: TopicPartition, topic_id: str, was: str) -> StateError:
    """Other records stand at the offsets that a state counts."""
    return StateError(
        f"{place}: the topic was created anew (id {topic_id}, the state was made from {was}); its offsets mean other "
        "records now. Stop the workers and run `flagfall rebuild`, which begins the tables with what it holds now, or "
        "use another FLAGFALL_APP_ID"
    )


def other_count(topic: str, there_are: int, count: int) -> StateError:
    """Partitions that belong to no task, or tasks that lack one."""
    return StateError(
        f"{topic} has {there_are} partitions, not {count}: what is in the others would be seen by no task. Kafka takes "
        f"no partition back: stop all workers, set FLAGFALL_TOPICS_PARTITIONS to {max(there_are, count)}, and run "
        "`flagfall widen`, which gives all topics so many"
    )


def log_loss(place: TopicPartition, start: int, next_offset: int) -> StateError:
    """Records are gone that were never read."""
    return StateError(
        f"{place}: LOG_LOSS: the log begins at offset {start}, the state ends at {next_offset}: "
        f"{start - next_offset} records were deleted before they were read. Stop the workers: then "
        "`flagfall accept-loss` notes the gap, and they go on behind it; `flagfall rebuild` builds the tables from "
        "what is left"
    )
