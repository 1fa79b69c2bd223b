"""The application's topics as the cluster has them now: partitions, offsets, configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from app.base.errors import KafkaUnavailable
from app.base.kafka.cluster import Cluster
from app.base.kafka.group_members import GroupSilent, GroupUnknown, Members
from app.base.kafka.topic import Topic
from app.base.kafka.topic_admin import Described, described
from app.base.setting_groups import KafkaSettings
from app.domain.records import TopicPartition

ANSWER_SECONDS = 5.0
"""A thread that waits for brokers waits longer: there is one of them, so that no other work lacks its threads."""


class GroupNow(NamedTuple):
    """A consumer group: its state, in Kafka's words, and by partition the next offset, where it has committed one."""

    state: str
    offsets: Mapping[int, int]


class TopicNow(NamedTuple):
    """`starts`, `ends`: by partition, the first offset that is there, and where what is committed ends. `groups`: by
    name."""

    described: Described
    starts: Mapping[int, int]
    ends: Mapping[int, int]
    groups: Mapping[str, GroupNow]


class KnownTopics:
    """`entries`: what the application's topics should be, by name."""

    def __init__(self, kafka: KafkaSettings, topics: Sequence[Topic], cluster: Cluster) -> None:
        self.entries = {topic.name: topic for topic in topics}
        self._kafka, self._cluster = kafka, cluster
        self._asking = ThreadPoolExecutor(1, "topics")

    async def now(self, name: str, groups: Sequence[str] = ()) -> TopicNow | None:
        """Of one of the entries; None where there is no such topic. KafkaUnavailable, ClusterError."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await loop.run_in_executor(self._asking, self._now, self.entries[name], groups)
        except TimeoutError:
            told = f"{self._kafka.bootstrap_server} gave no answer in {ANSWER_SECONDS:g} s"
            raise KafkaUnavailable(told) from None

    def _now(self, topic: Topic, groups: Sequence[str]) -> TopicNow | None:
        found = described(self._kafka, [topic]).get(topic.name)
        if found is None:
            return None
        places = [TopicPartition(topic.name, partition) for partition in range(found.partitions)]
        starts, ends = self._cluster.log_starts(places), self._cluster.log_ends(places, committed=True)
        told = {group: self._group(group, places) for group in groups}
        return TopicNow(found, _by_partition(starts), _by_partition(ends), told)

    def _group(self, group: str, places: Sequence[TopicPartition]) -> GroupNow:
        offsets = _by_partition(self._cluster.group_offsets(group, places))
        try:
            return GroupNow(Members(self._kafka, group).state(), offsets)
        except (GroupSilent, GroupUnknown) as error:
            raise KafkaUnavailable(str(error)) from error


def _by_partition(told: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {place.partition: offset for place, offset in told.items()}
