"""The systems that are compared, each with how it is started, when it is done and where its rows are."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from app.base import names
from app.base.kafka.topic import Topic
from app.base.kafka.topic_admin import create_topics
from app.base.registry.client import Registry
from app.base.services.jars import BENCH_SET, fetch
from app.base.services.java import find_java
from app.base.settings import Settings
from app.domain.view import View
from app.rides.ride import RIDES
from app.topics import application_topics
from benchmarks.stream.data_sets import PARTITIONS, TOPIC
from benchmarks.stream.ends import GroupCommitted, MarkersCover
from benchmarks.stream.logs import compact_rows, worker_rows
from benchmarks.stream.place import CannotBench, any_port
from benchmarks.stream.system import Finished, Kept, Run, System, digest
from benchmarks.stream.views import BENCHED, GRACE_SECONDS, LINE, LINES, PANE_SECONDS

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benchmarks" / "peers"
BUILT = ROOT / "build" / "bench-stream"
JVM = ("-Xms3g", "-Xmx3g", "-XX:+UseSerialGC")
"""On one core the serial collector costs least; the heap is large enough that it seldom runs."""


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
            _run(str(uv), "venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
            lock = str(PEERS / "quix.lock")
            _run(str(uv), "pip", "install", "--quiet", "--python", str(python), "--require-hashes", "-r", lock)
            (folder / "ready").touch()
        return python


@dataclass(frozen=True)
class Spark(Peer):
    """Spark Structured Streaming, with the connector that the reconciliation uses."""

    changelog: str | None = "{name}-rows"

    def command(self, run: Run) -> tuple[str, ...]:
        settings = run.place.settings
        assert self.changelog is not None
        topic = Topic(self.changelog.format(name=run.name), "row", "cells", PARTITIONS, 1, "compact", "Rows.")
        create_topics(settings.kafka, [topic])
        return super().command(run)

    def _variant(self, run: Run) -> dict[str, str]:
        jars = ",".join(map(str, fetch("spark", run.place.settings.cache_dir)))
        return {**self.variant, "jars": jars, "java_home": str(find_java().home)}


@dataclass(frozen=True)
class KafkaStreams:
    """Kafka Streams, compiled here."""

    name: str
    store: str
    guarantee: str
    rides: int | None = None
    views: tuple[View, ...] = (BENCHED,)

    def version(self) -> str:
        return digest(PEERS / "kafka_streams", ROOT / "app/base/services/jars.sha256", f"{JVM}{self.variant}")

    @cached_property
    def variant(self) -> dict[str, str]:
        return {"store": self.store, "guarantee": self.guarantee}

    def command(self, run: Run) -> tuple[str, ...]:
        classes = compiled(run.place.settings.cache_dir)
        job = write_job(run, self.variant)
        properties = ("-Djava.net.preferIPv4Stack=true", "-Dlog4j2.level=WARN", "-cp", classes)
        return (str(find_java().executable), *JVM, *properties, "Main", str(job))

    def finished(self, run: Run) -> Finished:
        return GroupCommitted(run.place.settings.kafka, run.name, run.ends)

    def rows(self, run: Run) -> Kept:
        return compact_rows(run.place.settings.kafka, f"{run.name}-rows-changelog", BENCHED, PARTITIONS)


EXACTLY, AT_LEAST = "exactly_once_v2", "at_least_once"
STOCK_FAUST_RIDES, QUIX_RIDES = 200_000, 1_000_000

SYSTEMS: dict[str, System] = {
    one.name: one
    for one in (
        Worker("worker", "one"),
        Worker("worker_five_views", "five"),
        Worker("worker_zone_demand", "zone_demand"),
        Peer("reader_aiokafka", "readers.py", None, {"client": "aiokafka"}, None),
        Peer("reader_confluent", "readers.py", None, {"client": "confluent"}, None),
        KafkaStreams("kafka_streams_memory", "memory", EXACTLY),
        KafkaStreams("kafka_streams_rocksdb", "rocksdb", EXACTLY),
        KafkaStreams("kafka_streams_memory_at_least_once", "memory", AT_LEAST),
        KafkaStreams("kafka_streams_rocksdb_at_least_once", "rocksdb", AT_LEAST),
        Spark("spark", "structured_streaming.py"),
        Quix("quix", "quix.py", QUIX_RIDES, {"guarantee": "at-least-once"}),
        Peer("stock_faust", "stock_faust.py", STOCK_FAUST_RIDES),
    )
}


def write_job(run: Run, variant: Mapping[str, str]) -> Path:
    """What a peer is to do, as the file that it reads."""
    settings = run.place.settings
    job: dict[str, Any] = {
        "bootstrap_server": settings.kafka.bootstrap_server,
        "name": run.name,
        "topic": TOPIC.name,
        "topic_number": TOPIC.number,
        "ends": {str(partition): end for partition, end in run.ends.items()},
        "pane_seconds": PANE_SECONDS,
        "grace_seconds": GRACE_SECONDS,
        "schema": Registry(settings).writer_schema(run.place.schema_id).text,
        "state_dir": str(run.folder / "state"),
        "variant": dict(variant),
    }
    file = run.folder / "job.json"
    file.write_text(json.dumps(job))
    return file


def compiled(cache_dir: Path) -> str:
    """The class path of the Kafka Streams program, compiled if it has changed. Raises CannotBench."""
    jars = ":".join(map(str, (*fetch(BENCH_SET, cache_dir), *fetch("kafka", cache_dir))))
    classes = BUILT / f"classes-{digest(PEERS / 'kafka_streams')}"
    if not classes.exists():
        javac = find_java().home / "bin" / "javac"
        if not javac.exists():
            raise CannotBench(f"{javac} is missing: Kafka Streams needs a JDK to be compiled with")
        draft = classes.with_suffix(".draft")
        sources = map(str, sorted((PEERS / "kafka_streams").glob("*.java")))
        _run(str(javac), "-nowarn", "-d", str(draft), "-cp", jars, *sources)
        draft.rename(classes)
    return f"{classes}:{jars}"


def quix_key(key: bytes) -> bytes:
    """The row's key in a key of Quix' changelog: message key, a bar, and our key as hex in JSON."""
    return bytes.fromhex(json.loads(key.partition(b"|")[2]))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBench(f"{' '.join(command[:3])} … failed:\n{done.stdout}{done.stderr}")
