"""One run of a drill: a world of its own on the brokers, workers, load, and what was done to them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from app.base import names
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.producer import Producer
from app.base.kafka.topic import Topic
from app.base.settings import Settings
from app.domain.records import TopicPartition
from app.domain.rows import Cells, RowKey
from app.rides.closing import closing_watermark_us, request_advances
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.rides.views import VIEWS
from app.topics import application_topics, finals_topics, source_topics
from tests.drills.drill import Drill, Size
from tests.drills.world.fleet import Fleet
from tests.drills.world.load import Load
from tests.support.clusters.brokers import Brokers
from tests.support.machine.cluster import alter_topic
from tests.support.machine.waiting import patient
from tests.support.machine.world import delete_topics, own_world

WORKERS = 2
LEAST_RIDES = 1_000


class Field:
    """What a drill has in hand. `written_rows` are rows that it put into the changelog itself, per task and view;
    `keeps_topics` leaves the application's topics where they are, for who has to look into their logs."""

    def __init__(self, brokers: Brokers, settings: Settings, seed: int, size: Size, folder: Path) -> None:
        self.brokers, self.settings, self.size, self.folder = brokers, settings, size, folder
        self.rng = random.Random(seed)
        self.faults: list[dict[str, Any]] = []
        self.fleet = Fleet(settings, folder, self.note)
        self.load = Load(settings, seed, size.rides_per_second)
        self.written_rows: dict[str, dict[tuple[int, RowKey], Cells]] = {}
        self.keeps_topics = False
        self.closing: dict[TopicPartition, tuple[int, int]] = {}
        """Per topic-partition: the offset and watermark of the advance that was asked for at the end."""
        self._began = time.monotonic()

    def note(self, fault: str, **facts: object) -> None:
        """A fault that was injected, or what came of one."""
        self.faults.append({"fault": fault, "at_seconds": round(time.monotonic() - self._began, 2), **facts})

    def start_workers(self, count: int = WORKERS) -> None:
        """Workers that share all tasks; then the load begins."""
        for _ in range(count):
            self.fleet.start()
        self.wait(self.fleet.own_all, "the workers share all tasks")
        self.load.start()

    def let_rides_pass(self, least_seconds: float, most_seconds: float) -> None:
        """Wait until so many more rides have been written as the load writes in a random time between these."""
        seconds = self.rng.uniform(least_seconds, most_seconds)
        goal = self.load.count + int(seconds * self.size.rides_per_second)
        self.wait(lambda: self.load.count >= goal, "more rides are written")

    def pause(self, least_seconds: float, most_seconds: float) -> None:
        """A random time in which something is down."""
        threading.Event().wait(self.rng.uniform(least_seconds, most_seconds))

    def wait(self, condition: Callable[[], bool], what: str, *, mend: bool = False) -> None:
        """Ask until it holds; see `Fleet.wait`."""
        self.fleet.wait(condition, what, mend=mend)

    def settle(self, count: int = WORKERS) -> None:
        """Everything is written, folded, closed, and held by workers that answer."""
        self.wait(lambda: self.load.has_written(LEAST_RIDES), "there are rides enough, late ones among them")
        self.load.finish()
        self.fleet.keep(count)
        self._await_cover([topic.name for topic in RIDES.topics], "every ride is folded")
        self._close()
        self._await_cover([names.advance_requests_topic(self.settings.app_id, RIDES.name)], "every window is closed")

    def changelog_ends(self) -> dict[TopicPartition, int]:
        """Where the changelog ends now; ClusterError if no leader tells it in time."""
        return self._cluster.log_ends(self._places([self.changelog]), committed=False)

    def alter(self, topic: str, **settings: object) -> None:
        """Change a topic's settings, given with underscores for dots."""
        alter_topic(self.settings, topic, {name.replace("_", "."): value for name, value in settings.items()})

    @property
    def changelog(self) -> str:
        return names.changelog_topic(self.settings.app_id, RIDES.name)

    @property
    def _cluster(self) -> Cluster:
        return Cluster(self.settings.kafka)

    def _await_cover(self, topics: list[str], what: str) -> None:
        """Wait until the workers share all tasks and have read these topics to where they end now."""
        ends = self._cluster.log_ends(self._places(topics), committed=True)
        self.wait(lambda: self.fleet.own_all() and self._cover(ends), what, mend=True)

    def _places(self, topics: Iterable[str]) -> list[TopicPartition]:
        return [TopicPartition(topic, p) for topic in topics for p in range(self.settings.topics.partitions)]

    def _cover(self, ends: dict[TopicPartition, int]) -> bool:
        markers = {p: self.fleet.marker(p) for p in range(self.settings.topics.partitions)}
        return all(
            (marker := markers[place.partition]) is not None and marker.inputs[place.topic].next_offset >= end
            for place, end in ends.items()
        )

    def _close(self) -> None:
        """Ask for watermarks at which every window has closed."""
        ends = self._cluster.log_ends(self._places(topic.name for topic in RIDES.topics), committed=True)
        latest_ms = max((acked.timestamp_ms for acked in self.load.acked.values()), default=0)
        watermark_us = closing_watermark_us(latest_ms, VIEWS)
        self.closing = {place: (end, watermark_us) for place, end in ends.items()}
        request_advances(Producer(self.settings.kafka), self.settings.app_id, RIDES.name, ends, watermark_us)


@contextmanager
def field_of(brokers: Brokers, drill: Drill, seed: int, size: Size, folder: Path) -> Iterator[Field]:
    """A field without workers and load as yet. Workers are gone afterwards, and so are the application's topics,
    unless the field keeps them."""
    settings = brokers.settings.model_copy(update={"app_id": f"{drill.name}-{seed}"})
    delete_topics(
        settings, _there(settings, [*source_topics(settings, RIDES), *finals_topics(settings, SHIPPED.finals)])
    )
    own_world(settings)
    field = Field(brokers, settings, seed, size, folder)
    try:
        yield field
    finally:
        field.load.abandon()
        field.fleet.end()
        if not field.keeps_topics:
            _delete_own(settings)


def _delete_own(settings: Settings) -> None:
    finals = finals_topics(settings, SHIPPED.finals)
    delete_topics(settings, _there(settings, [*application_topics(settings, RIDES.name), *finals]))


def _there(settings: Settings, wanted: Iterable[Topic]) -> list[str]:
    """A killed broker may forget that records were deleted, never that a topic was."""
    admin = AdminClient(librdkafka_options(settings.kafka))
    found = admin.list_topics(timeout=patient(20)).topics
    return [topic.name for topic in wanted if topic.name in found]
