"""A world of its own on a shared broker: a source's topics, what was written there, and what a worker made of it.

A test then spoils one side, and the reconciliation must say what and where.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.names import advances_topic, changelog_topic, quarantine_topic
from app.base.settings import Settings
from app.domain.advance import Advance
from app.domain.catalogue import TaskGroup
from app.domain.marker import Marker
from app.domain.records import Record, TopicPartition
from app.domain.rows import Cells, RowKey
from app.domain.source import Source, SourceTopic
from app.domain.view import View
from app.rides.ride import RIDES, avro_schema
from app.rides.views import VIEWS
from tests.support.machine.asking import results

PARTITIONS = 2
_names = itertools.count(1)

Table = dict[RowKey, Cells]


@dataclass
class Stored:
    """What a worker keeps of one task: rows per view, live and in the changelog, and the marker."""

    marker: Marker
    live: dict[str, Table]
    changelog: dict[str, Table]
    changelog_offset: int = -1
    blocks: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Records of the changelog; none are made of themselves."""


@dataclass
class World:
    """Topics of its own on a shared broker; `records` are the good ones, at the offsets they got."""

    settings: Settings
    source: Source
    views: tuple[View, ...]
    schema_id: int
    records: list[Record] = field(default_factory=list)
    poisoned: list[TopicPartition] = field(default_factory=list)
    advances: list[Advance] = field(default_factory=list)
    tasks: dict[int, Stored] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cluster = Cluster(self.settings.kafka)

    @property
    def view(self) -> View:
        return self.views[0]

    @property
    def groups(self) -> list[TaskGroup]:
        """As a run checks them."""
        return [TaskGroup((self.source,), self.views)]

    @property
    def changelog_topic(self) -> str:
        return changelog_topic(self.settings.app_id, self.source.name)

    def spoil_both(self, partition: int, view: View, change: Callable[[Table], None]) -> None:
        """The same fault in live table and changelog, as a fault of processing leaves it."""
        for side in (self.tasks[partition].live, self.tasks[partition].changelog):
            change(side[view.name])


@contextmanager
def new_world(settings: Settings, *, topics: int = 2, views: Sequence[View] = VIEWS) -> Iterator[World]:
    """A world with its topics made and its schema registered."""
    name = f"w{next(_names)}"
    own = tuple(SourceTopic(topic.number, f"{name}.{topic.name}") for topic in RIDES.topics[:topics])
    source = replace(RIDES, topics=own)
    views = tuple(replace(view, source=source) for view in views)
    client = SchemaRegistryClient({"url": settings.registry_url})
    schema = Schema(json.dumps(avro_schema()), "AVRO")
    ids = [client.register_schema(f"{topic.name}-value", schema) for topic in own]
    world = World(settings.model_copy(update={"app_id": name}), source, views, ids[0])
    _create_topics(world)
    yield world


def _create_topics(world: World) -> None:
    admin = AdminClient(librdkafka_options(world.settings.kafka))
    compacted = {"cleanup.policy": "compact", "min.compaction.lag.ms": "3600000"}
    new = [NewTopic(topic.name, PARTITIONS, 1, config={"retention.ms": "-1"}) for topic in world.source.topics]
    new.append(NewTopic(world.changelog_topic, PARTITIONS, 1, config=compacted))
    new += [NewTopic(of(world.settings.app_id), 1, 1) for of in (advances_topic, quarantine_topic)]
    results(admin.create_topics(new).values(), "topics are made", 30)
