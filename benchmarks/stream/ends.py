"""When a system has committed all it was to read, seen from outside, at the broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as KafkaPartition

from app.base.kafka.administrator import admin_client
from app.base.kafka.cluster import Cluster
from app.base.setting_groups import KafkaSettings
from app.codecs.stored.marker import decode_marker
from app.domain.records import TopicPartition
from benchmarks.stream.data_sets import TOPIC
from benchmarks.stream.logs import last_marker

QUIET_SECONDS = 0.3
"""So long nothing more is committed before the markers are read: reading them would slow the broker down."""


@dataclass
class MarkersCover:
    """The worker's end: the last commit after which every task's marker covers what was to be read."""

    kafka: KafkaSettings
    changelog: str
    ends: Mapping[int, int]
    now: Callable[[], float] = time.time
    _last: dict[TopicPartition, int] = field(default_factory=dict)
    _moved_at: float = 0.0
    _asked: bool = True

    def __post_init__(self) -> None:
        self._cluster = Cluster(self.kafka)

    def __call__(self) -> float | None:
        places = [TopicPartition(self.changelog, partition) for partition in self.ends]
        ends = self._cluster.log_ends(places, committed=True)
        if ends != self._last:
            self._last, self._moved_at, self._asked = ends, self.now(), False
        elif not self._asked and self.now() - self._moved_at > QUIET_SECONDS:
            self._asked = True
            if all(self._covered(place, end) for place, end in ends.items()):
                return self._moved_at
        return None

    def _covered(self, place: TopicPartition, end: int) -> bool:
        text = last_marker(self.kafka, self.changelog, place, end) if end else None
        if text is None:
            return self.ends[place.partition] == 0
        return decode_marker(text).next_offsets[TOPIC.name] >= self.ends[place.partition]


@dataclass
class GroupCommitted:
    """The end of a system whose group's offsets are committed together with its rows."""

    kafka: KafkaSettings
    group: str
    ends: Mapping[int, int]

    def __post_init__(self) -> None:
        self._admin = admin_client(self.kafka)
        self._asked = [KafkaPartition(TOPIC.name, partition) for partition in self.ends]

    def __call__(self) -> float | None:
        question = ConsumerGroupTopicPartitions(self.group, self._asked)
        answer = self._admin.list_consumer_group_offsets([question], require_stable=True)[self.group].result()
        if all(tp.offset >= self.ends[tp.partition] for tp in answer.topic_partitions):
            return time.time()
        return None
