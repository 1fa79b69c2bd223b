"""What a worker wrote down of its commits, joined with the rides that the topics hold."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.settings import Settings
from app.domain.records import TopicPartition
from app.rides.ride import RIDES

COMMITS = "FLAGFALL_TEST_COMMITS"
"""The environment variable that tells a worker where to write its commits down."""
AT_ONCE = 10_000
LONGEST_SECONDS = 60.0

Doubles = npt.NDArray[np.float64]


class Commit(NamedTuple):
    """A transaction of one task is committed, and its rows are readable.

    `cpu_seconds` is what the worker had used by then, since its start.
    """

    at_seconds: float
    partition: int
    next_offsets: dict[str, int]
    cpu_seconds: float


def read_commits(path: Path) -> list[Commit]:
    """The commits so far, in order."""
    return [Commit(*json.loads(line)) for line in path.read_text().splitlines()]


def latencies_ms(
    settings: Settings,
    commits: list[Commit],
    from_seconds: float,
    to_seconds: float,
    since: Mapping[TopicPartition, int] | None = None,
) -> Doubles:
    """Of every ride that was sent in this time. ValueError if one was never committed.

    `since`: offsets to look from, where rides stand before them that nobody asks about.
    """
    parts = []
    for place, sent in _sent(settings, since or {}).items():
        ours = [c for c in commits if c.partition == place.partition]
        nexts = np.array([c.next_offsets[place.topic] for c in ours], np.int64)
        readable_ms = np.array([c.at_seconds * 1000 for c in ours])
        offsets, sent_ms = np.array(sent, np.int64).reshape(-1, 2).T
        wanted = (sent_ms >= from_seconds * 1000) & (sent_ms < to_seconds * 1000)
        at = np.searchsorted(nexts, offsets[wanted], side="right")
        if at.max(initial=-1) == len(nexts):
            raise ValueError(f"{place}: rides behind offset {nexts.max(initial=0)} were never committed")
        parts.append(readable_ms[at] - sent_ms[wanted])
    return np.concatenate(parts)


def ride_ends(settings: Settings) -> dict[TopicPartition, int]:
    """Where the logs of rides end."""
    places = [TopicPartition(topic.name, p) for topic in RIDES.topics for p in range(settings.topics.partitions)]
    return Cluster(settings.kafka).log_ends(places, committed=True)


def _sent(settings: Settings, since: Mapping[TopicPartition, int]) -> dict[TopicPartition, list[tuple[int, int]]]:
    """Offsets and Kafka timestamps of the rides."""
    ends = ride_ends(settings)
    places = list(ends)
    sent: dict[TopicPartition, list[tuple[int, int]]] = {place: [] for place in places}
    options = {"group.id": "latency", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    with closing(Consumer({**librdkafka_options(settings.kafka), **options})) as consumer:
        consumer.assign([KafkaPartition(place.topic, place.partition, since.get(place, 0)) for place in places])
        left, deadline = (
            sum(end - since.get(place, 0) for place, end in ends.items()),
            time.monotonic() + LONGEST_SECONDS,
        )
        while left:
            if time.monotonic() > deadline:
                raise ValueError(f"{left} rides could not be read again")
            for message in consumer.consume(AT_ONCE, timeout=0.5):
                sent[TopicPartition(message.topic(), message.partition())].append(
                    (message.offset(), message.timestamp()[1])
                )
                left -= 1
    return sent
