"""What one run of the reconciliation works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pyspark.sql import SparkSession

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.committed import await_decided
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.domain.naming.evidence import Translator
from app.domain.records import TopicPartition
from spark_batch.findings.report import Report
from spark_batch.layers.history import History
from spark_batch.source.kafka_range import told_by
from spark_batch.stored.cut import SourceCut, Span

Progressing = Callable[[str], AbstractContextManager[object]]
"""Called with what a step does, in words, for the time that it takes."""


@dataclass
class Reconciliation:
    """What one run works with. `work` holds its copies; `translator` is what workers make rows by, if it is known.

    `with_completeness`: what rows should be is asked, too. `history`: what earlier runs have kept, if they do.
    `third`: where third opinions of views are, if they are asked.
    """

    settings: Settings
    spark: SparkSession
    worker: WorkerDoor
    work: Path
    report: Report
    progress: Progressing = field(default=lambda words: nullcontext())
    translator: Translator | None = None
    with_completeness: bool = False
    history: History | None = None
    third: Path | None = None

    def __post_init__(self) -> None:
        self.client = librdkafka_options(self.settings.kafka)

    @cached_property
    def cluster(self) -> Cluster:
        """Connects when it is first asked."""
        return Cluster(self.settings.kafka)

    @contextmanager
    def step(self, name: str, words: str) -> Iterator[None]:
        """A named step: timed for the report, shown while it runs."""
        with self.report.timed(name), self.progress(words):
            yield

    def to_be_read(self, cut: SourceCut) -> list[Span]:
        """What the task has read, without what the history holds of it."""
        own = cut.source_spans
        held = own if self.history is None else self.history.to_be_read(cut.source, own)
        return [*held, *(span for span in cut.spans if span not in own)]

    def partition_count(self, topic: str) -> int:
        """How many partitions the topic has now."""
        with told_by(self.cluster):
            return self.cluster.topics([topic])[topic].partitions

    def decided_partitions(self, topic: str) -> int:
        """The same, once what tasks have written to them can be read: they write side by side."""
        count = self.partition_count(topic)
        with told_by(self.cluster):
            await_decided(self.cluster, [TopicPartition(topic, partition) for partition in range(count)])
        return count
