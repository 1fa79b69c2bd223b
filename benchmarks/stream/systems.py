"""The systems that are compared, each with how it is started, when it is done and where its rows are."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.base import names
from app.base.kafka.topic_admin import create_topics
from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.settings import Settings
from app.domain.view import View
from app.rides.ride import RIDES
from app.topics import application_topics
from benchmarks.stream.data_sets import PARTITIONS, TOPIC
from benchmarks.stream.ends import MarkersCover
from benchmarks.stream.java_peers import Flink, KafkaStreams
from benchmarks.stream.logs import compact_rows, worker_rows
from benchmarks.stream.place import any_port
from benchmarks.stream.system import (
    BUILT,
    PEERS,
    ROOT,
    Finished,
    Kept,
    Run,
    System,
    create_changelog,
    digest,
    run_tool,
    write_job,
)
from benchmarks.stream.views import BENCHED, LINE, LINES


@dataclass(frozen=True)
class Worker:
    """This project's worker."""

    name: str
    line: str
    rides: int | None = None

    @property
    def views(self) -> tuple[View, ...]:
        return LINES[self.line]

    def version(self) -> str:
        return digest(*(ROOT / part for part in ("app", "agents", "tables", "requirements.lock")), self.line)

    def command(self, run: Run) -> tuple[str, ...]:
        settings = self._settings(run)
        create_topics(settings.kafka, application_topics(settings, RIDES.name))
        file = run.folder / "environment.json"
        file.write_text(json.dumps(settings.environment() | {LINE: self.line}))
        return (sys.executable, "-m", "benchmarks.stream.run_worker", str(file))

    def finished(self, run: Run) -> Finished:
        return MarkersCover(run.place.settings.kafka, self._changelog(run), run.ends)

    def rows(self, run: Run) -> Kept:
        return worker_rows(run.place.settings.kafka, self._changelog(run), self.views, PARTITIONS)

    def _changelog(self, run: Run) -> str:
        return names.changelog_topic(run.name, TOPIC.name.partition(".")[0])

    def _settings(self, run: Run) -> Settings:
        worker = run.place.settings.worker.model_copy(update={"http_port": any_port()})
        return run.place.settings.model_copy(update={"app_id": run.name, "worker": worker})


@dataclass(frozen=True)
class Peer:
    """A program of `benchmarks/peers` in Python, run by this environment's interpreter."""

    name: str
    program: str
    rides: int | None = None
    variant: Mapping[str, str] = field(default_factory=dict)
    changelog: str | None = "{name}-rows-changelog"
    """Topic of its rows; None for a reader."""

    @property
    def views(self) -> tuple[View, ...]:
        return () if self.changelog is None else (BENCHED,)

    def version(self) -> str:
        program = PEERS / self.program
        return digest(program, PEERS / "fold.py", ROOT / "requirements.lock", f"{self.variant}{self.rides}")

    def command(self, run: Run) -> tuple[str, ...]:
        return (str(self._interpreter()), str(PEERS / self.program), str(write_job(run, self._variant(run))))

    def finished(self, run: Run) -> Finished | None:
        return None

    def rows(self, run: Run) -> Kept:
        assert self.changelog is not None
        return compact_rows(run.place.settings.kafka, self.changelog.format(name=run.name), BENCHED, PARTITIONS)

    def _interpreter(self) -> Path:
        return Path(sys.executable)

    def _variant(self, run: Run) -> dict[str, str]:
        return dict(self.variant)


@dataclass(frozen=True)
class Quix(Peer):
    """Quix Streams, in an environment of its own: its dependencies are not the project's."""

    changelog: str | None = "changelog__{name}--" + TOPIC.name + "--default"

    def version(self) -> str:
        return digest(super().version(), PEERS / "quix.lock")

    def rows(self, run: Run) -> Kept:
        assert self.changelog is not None
        topic = self.changelog.format(name=run.name)
        return compact_rows(run.place.settings.kafka, topic, BENCHED, PARTITIONS, key=quix_key)

    def _interpreter(self) -> Path:
        folder = BUILT / f"quix-{digest(PEERS / 'quix.lock')}"
        python = folder / "bin" / "python"
        if not (folder / "ready").exists():
            uv = Path(sys.executable).with_name("uv")
            run_tool(str(uv), "venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
            lock = str(PEERS / "quix.lock")
            run_tool(str(uv), "pip", "install", "--quiet", "--python", str(python), "--require-hashes", "-r", lock)
            (folder / "ready").touch()
        return python


@dataclass(frozen=True)
class Spark(Peer):
    """Spark Structured Streaming, with the connector that the reconciliation uses."""

    changelog: str | None = "{name}-rows"

    def command(self, run: Run) -> tuple[str, ...]:
        assert self.changelog is not None
        create_changelog(run, self.changelog.format(name=run.name))
        return super().command(run)

    def _variant(self, run: Run) -> dict[str, str]:
        jars = ",".join(map(str, fetch("spark", run.place.settings.cache_dir)))
        return {**self.variant, "jars": jars, "java_home": str(find_java().home)}


EXACTLY, AT_LEAST = "exactly_once_v2", "at_least_once"
DEFAULT_MS, SECOND_MS = 100, 1_000
"""Kafka Streams' own interval with exactly once; and the longest that is like with like: durable once a second."""
STOCK_FAUST_RIDES, QUIX_RIDES = 200_000, 1_000_000

SYSTEMS: dict[str, System] = {
    one.name: one
    for one in (
        Worker("worker", "one"),
        Worker("worker_five_views", "five"),
        Worker("worker_zone_demand", "zone_demand"),
        Peer("reader_aiokafka", "readers.py", None, {"client": "aiokafka"}, None),
        Peer("reader_confluent", "readers.py", None, {"client": "confluent"}, None),
        KafkaStreams("kafka_streams_memory", "memory", EXACTLY, DEFAULT_MS),
        KafkaStreams("kafka_streams_memory_1s", "memory", EXACTLY, SECOND_MS),
        KafkaStreams("kafka_streams_rocksdb", "rocksdb", EXACTLY, DEFAULT_MS),
        KafkaStreams("kafka_streams_memory_at_least_once", "memory", AT_LEAST, SECOND_MS),
        KafkaStreams("kafka_streams_rocksdb_at_least_once", "rocksdb", AT_LEAST, SECOND_MS),
        Flink("flink_heap", "hashmap", "at_least_once", SECOND_MS),
        Flink("flink_exactly_once", "hashmap", "exactly_once", SECOND_MS),
        Spark("spark", "structured_streaming.py"),
        Quix("quix", "quix.py", QUIX_RIDES, {"guarantee": "at-least-once"}),
        Peer("stock_faust", "stock_faust.py", STOCK_FAUST_RIDES),
    )
}


def quix_key(key: bytes) -> bytes:
    """The row's key in a key of Quix' changelog: message key, a bar, and our key as hex in JSON."""
    return bytes.fromhex(json.loads(key.partition(b"|")[2]))
