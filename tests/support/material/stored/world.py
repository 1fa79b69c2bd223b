"""Rides in Kafka and the tables they make, written by the naive fold: what a faultless worker would have left.

A test then spoils one side, and the reconciliation must say what and where.
"""

from __future__ import annotations

import itertools
import json
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import orjson
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from app.base.files.verdicts import LastVerdicts
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.names import advances_topic, changelog_topic, quarantine_topic
from app.base.settings import Settings
from app.codecs.batches.origin_headers import OFFSET, PARTITION, REASON, TOPIC
from app.codecs.stored.changelog import NULL_INTEGER, encode_rows, marker_key
from app.codecs.stored.export import ExportMetadata, ExportWriter, digest_of_columns
from app.codecs.stored.marker import encode_marker
from app.domain.advance import Advance
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Fates, InputPosition, Marker, ViewPosition
from app.domain.oracle.view_fold import Folded, fold
from app.domain.records import Record, TopicPartition
from app.domain.rows import Cells, RowKey
from app.domain.source import Source, SourceTopic
from app.domain.view import View
from app.rides.ride import RIDES, avro_schema
from app.rides.views import VIEWS
from tests.support.machine.waiting import patient, wait_for
from tests.support.material.histories import SCHEMA, random_log
from tests.support.material.stored.row_keys import encode_key

PARTITIONS = 2
ABORTED_AT_ONCE = 3
_names = itertools.count(1)

Table = dict[RowKey, Cells]


@dataclass
class Stored:
    """What a worker keeps of one task: rows per view, live and in the changelog, and the marker."""

    marker: Marker
    live: dict[str, Table]
    changelog: dict[str, Table]
    changelog_offset: int = -1


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
    rows_per_transaction: int = 50

    def __post_init__(self) -> None:
        self.client = librdkafka_options(self.settings.kafka)
        self.cluster = Cluster(self.settings.kafka)
        self.admin = AdminClient(dict(self.client))

    @property
    def view(self) -> View:
        return self.views[0]

    @property
    def changelog_topic(self) -> str:
        return changelog_topic(self.settings.app_id, self.source.name)

    def create_topics(self, topics: Sequence[str] = ()) -> None:
        names = list(topics) or [t.name for t in self.source.topics]
        new = [NewTopic(name, PARTITIONS, 1, config={"retention.ms": "-1"}) for name in names]
        if not topics:
            compacted = {"cleanup.policy": "compact", "min.compaction.lag.ms": "3600000"}
            new.append(NewTopic(self.changelog_topic, PARTITIONS, 1, config=compacted))
            new += [NewTopic(of(self.settings.app_id), 1, 1) for of in (advances_topic, quarantine_topic)]
        for future in self.admin.create_topics(new).values():
            future.result(patient(30))

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(patient(30))

    def write_rides(self, seed: int, count: int, *, aborted: bool = True) -> None:
        """Made-up rides with poison into every topic-partition, in committed and aborted transactions."""
        rng = random.Random(seed)
        for topic in self.source.topics:
            for partition in range(PARTITIONS):
                log = random_log(rng, topic.name, partition, count)
                values = {record.offset: record for record in log.records}
                self._write(rng, log.entries, topic.name, partition, values, aborted=aborted)

    def _write(
        self,
        rng: random.Random,
        entries: list[tuple[int, int, bytes | None]],
        topic: str,
        partition: int,
        known: dict[int, Record],
        *,
        aborted: bool,
    ) -> None:
        with self.producer() as producer:
            while entries:
                some, entries = entries[: (size := rng.randint(1, 60))], entries[size:]
                if aborted and rng.random() < 0.4:
                    with transaction(producer, commit=False):
                        for _, timestamp_ms, value in some[:ABORTED_AT_ONCE]:
                            self.send(producer, topic, partition, timestamp_ms, self._framed(value))
                with transaction(producer):
                    for old, timestamp_ms, value in some:
                        sent = max(timestamp_ms, 1)
                        place = self.send(producer, topic, partition, sent, self._framed(value))
                        producer.flush()
                        if old in known:
                            at = Record(topic, partition, place[0], sent, known[old].values)
                            self.records.append(at)
                        else:
                            self.poisoned.append(TopicPartition(topic, partition))

    def _framed(self, value: bytes | None) -> bytes | None:
        """A made-up value under the schema id that the registry gave."""
        if value is None or not value.startswith(SCHEMA.header):
            return value
        return b"\0" + self.schema_id.to_bytes(4, "big") + value[len(SCHEMA.header) :]

    def send(self, producer: Producer, topic: str, partition: int, timestamp_ms: int, value: bytes | None) -> list[int]:
        """The list gets the record's offset once it is delivered."""
        place: list[int] = []
        producer.produce(
            topic,
            value,
            b"264",
            partition=partition,
            timestamp=max(timestamp_ms, 1),
            on_delivery=lambda error, message: place.append(message.offset()),
        )
        return place

    def write_poison(self, values: Sequence[bytes | None], timestamp_ms: int) -> list[int]:
        """Unusable values into the first topic-partition; their offsets."""
        topic = self.source.topics[0].name
        with self.producer() as producer, transaction(producer):
            places = [self.send(producer, topic, 0, timestamp_ms, value) for value in values]
        self.poisoned += [TopicPartition(topic, 0)] * len(values)
        return [place[0] for place in places]

    def write_refused(self, offsets: Sequence[int], reason: str) -> None:
        """Records of the first topic-partition into the quarantine topic, as far as anybody reads them there."""
        topic = self.source.topics[0].name
        with self.producer() as producer, transaction(producer):
            for offset in offsets:
                told = {TOPIC: topic, PARTITION: "0", OFFSET: str(offset), REASON: reason}
                producer.produce(quarantine_topic(self.settings.app_id), b"", headers=told)

    def write_advance(self, advance: Advance, *, obeyed: bool = True) -> None:
        with self.producer() as producer, transaction(producer):
            producer.produce(advances_topic(self.settings.app_id), orjson.dumps(advance._asdict()))
        if obeyed:
            self.advances.append(advance)

    def fold(self) -> None:
        """Tables and markers as they must be; nothing is written yet."""
        folded = {view.name: fold(view, self.records, self.advances) for view in self.views}
        for partition in range(PARTITIONS):
            rows = {name: dict(found.rows[partition]) for name, found in folded.items()}
            live = {name: dict(table) for name, table in rows.items()}
            self.tasks[partition] = Stored(self._marker(partition, folded), live, rows)

    def _marker(self, partition: int, folded: dict[str, Folded]) -> Marker:
        topics = [topic.name for topic in self.source.topics]
        facts = self.cluster.topics(topics)
        any_view = next(iter(folded.values()))
        inputs = {topic: self._position(any_view, topic, partition, facts[topic].id) for topic in topics}
        views = {
            view.name: ViewPosition(
                view.number,
                view.version,
                start=dict.fromkeys(topics, 0),
                fates={t: _fates(folded[view.name], TopicPartition(t, partition)) for t in topics},
            )
            for view in self.views
        }
        return Marker(self.settings.app_id, self.source.number, partition, 1, inputs, views)

    def _position(self, folded: Folded, topic: str, partition: int, topic_id: str) -> InputPosition:
        at = TopicPartition(topic, partition)
        wait_for(lambda: not self._is_open(at), f"every transaction of {at} is closed in its log")
        end = self.cluster.log_ends([at], committed=True)[at]
        read = sum(TopicPartition(r.topic, r.partition) == at for r in self.records)
        refused = sum(TopicPartition(r.topic, r.partition) == at for r in folded.quarantined)
        poisoned = self.poisoned.count(at)
        return InputPosition(
            topic_id=topic_id,
            start_offset=0,
            next_offset=end,
            watermark_us=folded.watermarks.get(at, NO_WATERMARK),
            decoded=read - refused,
            quarantined=refused + poisoned,
            not_records=end - read - poisoned,
        )

    def _is_open(self, at: TopicPartition) -> bool:
        """A commit is told before its markers are in the log: until then the last stable offset is behind."""
        return self.cluster.log_ends([at], committed=True) != self.cluster.log_ends([at], committed=False)

    def write_changelog(self) -> None:
        """Rows in several transactions, with older values and tombstones before and newer state after the cut."""
        for partition, stored in self.tasks.items():
            records = [
                (encode_key(view, key), encode_rows(np.array([cells], np.int64))[0])
                for view in self.views
                for key, cells in stored.changelog[view.name].items()
            ]
            gone = encode_key(self.view, RowKey(0, (7,) * len(self.view.texts)))
            with self.producer() as producer:
                self._write_state(producer, partition, [(key, bytes(len(value))) for key, value in records[:9]])
                self._write_state(producer, partition, [(gone, b"old")])
                with transaction(producer, commit=False):
                    producer.produce(self.changelog_topic, b"aborted", records[0][0], partition)
                self._write_state(producer, partition, [(gone, None)])
                self._write_state(producer, partition, records[: self.rows_per_transaction])
                offset = self._write_state(producer, partition, records[self.rows_per_transaction :], stored.marker)
                stored.changelog_offset = offset
                self._write_state(producer, partition, [(key, b"newer than the cut") for key, _ in records[:5]])

    def _write_state(
        self,
        producer: Producer,
        partition: int,
        records: Sequence[tuple[bytes, bytes | None]],
        marker: Marker | None = None,
    ) -> int:
        with transaction(producer):
            for key, value in records:
                producer.produce(self.changelog_topic, value, key, partition)
            place: list[int] = []
            producer.produce(
                self.changelog_topic,
                encode_marker(marker or replace(self.tasks[partition].marker, sequence=0)),
                marker_key(self.source.number),
                partition,
                on_delivery=lambda error, message: place.append(message.offset()),
            )
        return place[0]

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        name = f"{self.settings.app_id}-{next(_names)}"
        producer = Producer(dict(self.client) | {"transactional.id": name})
        producer.init_transactions(patient(30))
        yield producer

    def export(self, view: View, partition: int) -> bytes:
        """What a worker would answer."""
        stored = self.tasks[partition]
        windows, groups, cells = _columns(view, stored.live[view.name])
        digest = digest_of_columns(view, windows, groups, cells)
        offset, count = stored.changelog_offset, len(cells)
        told = ExportMetadata(view.name, view.version, partition, stored.marker, offset, count, digest)
        writer = ExportWriter(view, told)
        return writer.rows(windows, groups, cells) + writer.end()

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
    world.create_topics()
    yield world


@contextmanager
def serving(world: World, answer: Callable[[View, int], bytes] | None = None) -> Iterator[str]:
    """The address of a server that gives the world's exports."""
    give = answer or world.export

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            view = next(view for view in world.views if f"/{view.name}/" in asked.path)
            body = give(view, int(parse_qs(asked.query)["partition"][0]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def transaction(producer: Producer, *, commit: bool = True) -> Iterator[None]:
    producer.begin_transaction()
    yield
    producer.flush()
    if commit:
        producer.commit_transaction(patient(30))
    else:
        producer.abort_transaction(patient(30))


def read_report(output: Path, application: str) -> dict[str, Any]:
    """The report of the application's newest run."""
    ended = [checked.finished for checked in LastVerdicts(output, application).read().values() if checked.finished]
    newest = max(ended, key=lambda finished: finished.finished_at)
    found: dict[str, Any] = json.loads((output / newest.report).read_text())
    return found


def _fates(folded: Folded, at: TopicPartition) -> Fates:
    def count(records: Sequence[Record]) -> int:
        return sum((r.topic, r.partition) == at for r in records)

    return Fates(count(folded.applied), count(folded.late), count(folded.out_of_scope))


def _columns(view: View, table: Table) -> tuple[Any, list[Any], Any]:
    keys = list(table)
    windows = None
    if view.window.ends:
        windows = np.array([key.window_start_us for key in keys], np.int64)
    groups: list[Any] = []
    for at, text in enumerate(view.texts):
        values = [key.group[at] for key in keys]
        held = values if text else [NULL_INTEGER if value is None else value for value in values]
        groups.append(np.array(held, object if text else np.int64))
    return windows, groups, np.array(list(table.values()), np.int64).reshape(len(keys), len(view.cells))
