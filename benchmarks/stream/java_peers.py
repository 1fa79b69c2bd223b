"""The peers in Java: Kafka Streams and Flink, compiled by the JDK at the first run of each state of their sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from app.base.services.jars import BENCH_SET, FLINK_SET, fetch
from app.base.services.java import find_java
from app.domain.view import View
from benchmarks.stream.data_sets import PARTITIONS
from benchmarks.stream.ends import GroupCommitted
from benchmarks.stream.logs import compact_rows
from benchmarks.stream.place import CannotBench
from benchmarks.stream.system import (
    BUILT,
    PEERS,
    ROOT,
    Finished,
    Kept,
    Run,
    create_changelog,
    digest,
    run_tool,
    write_job,
)
from benchmarks.stream.views import BENCHED

JVM = ("-Xms3g", "-Xmx3g", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true", "-Dlog4j2.level=WARN")
"""On one core the serial collector costs least; the heap is large enough that it seldom runs."""
SHARED = PEERS / "java"


@dataclass(frozen=True)
class JavaPeer:
    """A program of `benchmarks/peers` in Java, with the variant of it that is benched."""

    name: str
    store: str
    guarantee: str
    commit_ms: int
    rides: int | None = None
    views: tuple[View, ...] = (BENCHED,)

    program: ClassVar[Path]
    jar_sets: ClassVar[tuple[str, ...]]
    changelog: ClassVar[str]
    """Topic of its rows."""

    @property
    def variant(self) -> dict[str, str]:
        return {"store": self.store, "guarantee": self.guarantee, "commit_ms": str(self.commit_ms)}

    def version(self) -> str:
        pinned = ROOT / "app/base/services/jars.sha256"
        return digest(self.program, SHARED, pinned, f"{JVM}{self.variant}")

    def command(self, run: Run) -> tuple[str, ...]:
        jars = [jar for name in self.jar_sets for jar in fetch(name, run.place.settings.cache_dir)]
        class_path = compiled(self.program, ":".join(map(str, jars)))
        job = write_job(run, self.variant)
        temporary = f"-Djava.io.tmpdir={run.folder}"  # Flink leaves files there
        return (str(find_java().executable), *JVM, temporary, "-cp", class_path, "Main", str(job))

    def finished(self, run: Run) -> Finished | None:
        return None

    def rows(self, run: Run) -> Kept:
        topic = self.changelog.format(name=run.name)
        return compact_rows(run.place.settings.kafka, topic, BENCHED, PARTITIONS)


class KafkaStreams(JavaPeer):
    """Its changelog is the store's own; its end is seen by the offsets of its group."""

    program = PEERS / "kafka_streams"
    jar_sets = (BENCH_SET, "kafka")
    changelog = "{name}-rows-changelog"

    def finished(self, run: Run) -> Finished:
        return GroupCommitted(run.place.settings.kafka, run.name, run.ends)


class Flink(JavaPeer):
    """Its sink's topic stands beside its checkpoints; it tells its end itself, after the last checkpoint."""

    program = PEERS / "flink"
    jar_sets = (FLINK_SET,)
    changelog = "{name}-rows"

    def command(self, run: Run) -> tuple[str, ...]:
        create_changelog(run, self.changelog.format(name=run.name))
        return super().command(run)


def compiled(program: Path, jars: str) -> str:
    """The class path of a program, compiled if it has changed. Raises CannotBench."""
    classes = BUILT / f"classes-{program.name}-{digest(program, SHARED)}"
    if not classes.exists():
        javac = find_java().home / "bin" / "javac"
        if not javac.exists():
            raise CannotBench(f"{javac} is missing: {program.name} needs a JDK to be compiled with")
        draft = classes.with_suffix(".draft")
        sources = map(str, sorted((*SHARED.glob("*.java"), *program.glob("*.java"))))
        run_tool(str(javac), "-nowarn", "-d", str(draft), "-cp", jars, *sources)
        draft.rename(classes)
    return f"{classes}:{jars}"
