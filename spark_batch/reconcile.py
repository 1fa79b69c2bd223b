"""One run: copy what is stored, recompute it from the source to the same cut, compare, name, report.

exports ──┬─▶ cut ─▶ checks ─▶ source records ─▶ recomputed rows ─┐
          └─▶ changelog up to each marker ────────────────────────┴─▶ compare ─▶ explain ─▶ report
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path

from confluent_kafka.admin import ConfigResource, ResourceType
from pyspark.sql import DataFrame, SparkSession

from app.base.errors import KafkaUnavailable, RegistryUnavailable
from app.base.files.verdicts import Verdict, write_begun, write_finished
from app.base.kafka.clients import java_options, librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.committed import LogRefused, LogSilent, await_decided
from app.base.kafka.topic_admin import admin_client, topic_states
from app.base.names import advances_topic, changelog_topic, quarantine_topic, subject_of
from app.base.registry.client import Registry
from app.base.registry.schemas import RegistrySchemas
from app.base.settings import Settings
from app.domain.advance import Advance, obeyed
from app.domain.corrections.correction import Place
from app.domain.difference import Difference
from app.domain.records import TopicPartition
from app.domain.rules.obeyed import source_rules_of
from app.domain.source import Source
from app.domain.view import View
from spark_batch.errors import Inconclusive, Invalid, NoVerdict
from spark_batch.findings.compare import Comparison, compare
from spark_batch.findings.explain import explain
from spark_batch.findings.ledgers import accepted_losses, entries, not_adding_up
from spark_batch.findings.report import Report, ViewReport, new_run_id, write_report
from spark_batch.folds.corrections import Told, read_told
from spark_batch.folds.recount import Recount, counted, epoch_floors, recount
from spark_batch.source.kafka_range import check_spans, read_spans, told_by
from spark_batch.source.log_reader import check_marker, overwritten_too_early, read_advances, read_value
from spark_batch.source.read_schemas import resolved_otherwise
from spark_batch.source.read_source import read_source
from spark_batch.source.refused_then import read_refused_then, with_refused_then
from spark_batch.source.watermark import with_watermark
from spark_batch.stored.changelog import changelog_rows, changelog_spans, latest
from spark_batch.stored.cut import Span, TaskCut, joined
from spark_batch.stored.export_client import Export, fetch_exports, live_rows

ROWS_NAMED = 1000
"""Differing rows per view that are looked into; more are counted as residual."""
REQUEST_TIMEOUT_SECONDS = 30.0
COMPACTION_LAG = "min.compaction.lag.ms"

Progress = Callable[[str], AbstractContextManager[object]]
"""Called with what a step does, in words, for the time that it takes."""


@dataclass
class Run:
    """What one run works with. `work` holds its copies."""

    settings: Settings
    spark: SparkSession
    worker_url: str
    work: Path
    report: Report
    progress: Progress = field(default=lambda words: nullcontext())

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


def reconcile(
    settings: Settings,
    spark: SparkSession,
    views: Sequence[View],
    *,
    worker_url: str,
    output: Path,
    work: Path,
    progress: Progress = lambda words: nullcontext(),
) -> Report:
    """Check the views and write the report below `output`. Only a crash raises; no verdict is a verdict too.

    `latest.json` in `output` says that the run began, and at its end what it found. Copies of rows and records, often
    gigabytes, are made below `work`, which is the caller's to remove.
    """
    report = _new_report(settings)
    run = Run(settings, spark, worker_url, work, report, progress)
    write_begun(output, [view.name for view in views], report.begun)
    try:
        _require_cluster(settings)
        for source, of_source in _by_source(views):
            report.views += _reconcile_source(run, source, of_source)
        report.verdict = Verdict.MATCH if all(view.is_right for view in report.views) else Verdict.MISMATCH
    except (NoVerdict, LogSilent, LogRefused, RegistryUnavailable) as error:
        report.verdict = Verdict.INVALID if isinstance(error, Invalid | LogRefused) else Verdict.INCONCLUSIVE
        report.reason = str(error)
    spark.catalog.clearCache()
    report.finished_at = datetime.now(UTC)
    write_report(report, output / report.run_id)
    write_finished(output, report.found(views))
    return report


def _reconcile_source(run: Run, source: Source, views: Sequence[View]) -> list[ViewReport]:
    with run.step("exports", "fetching the workers' rows"):
        exports = _exports(run, source, views)
    cuts = [export.cut for of_view in exports.values() for export in of_view]
    with run.step("checks", "checking that the topics hold what the cut claims"):
        _check(run, cuts)
        advances = _advances(run, source, cuts)
        told = read_told(run.client, run.settings.app_id, source, cuts)
    with run.step("changelog", "copying the changelog up to the same position"):
        stored = _changelog(run, source, cuts)
    with run.step("read", "reading and decoding the source records"):
        records = _records(run, source, views, cuts)
    marked = with_watermark(records, source, advances).cache()
    return [_reconcile_view(run, exports[view.name], stored, marked, advances, told) for view in views]


def _reconcile_view(
    run: Run, exports: Sequence[Export], stored: DataFrame, records: DataFrame, advances: Sequence[Advance], told: Told
) -> ViewReport:
    cuts = [export.cut for export in exports]
    view = cuts[0].view
    own = recount(view, cuts, records, told)
    with run.step("ledgers", f"{view.name}: counting what became of every record"):
        figures = counted(own)
        ledger = [entry for cut in cuts for entry in entries(cut, figures, advances)]
        ledger += own.corrections.entries(own.judged, own.corrected[1])
        ledger += epoch_floors(own, advances)
    with run.step("compare", f"{view.name}: recomputing and comparing every row"):
        live, logged = live_rows(run.spark, view, exports), changelog_rows(stored, view)
        found = compare(view, live, logged, own.rows, ROWS_NAMED)
    differences = _explained(run, own, found)
    return ViewReport(
        view,
        cuts,
        found.live_rows,
        found.changelog_rows,
        found.recomputed_rows,
        found.differing_rows,
        len(found.first),
        differences,
        ledger,
        len(own.corrections.applied),
    )


def _explained(run: Run, own: Recount, found: Comparison) -> list[Difference]:
    if not found.first:
        return []
    with run.step("explain", f"{own.view.name}: naming the records behind {found.differing_rows} differing rows"):
        return explain(own, found.first)


def _exports(run: Run, source: Source, views: Sequence[View]) -> dict[str, list[Export]]:
    partitions = range(_partition_count(run, source.topics[0].name))
    return {view.name: fetch_exports(run.worker_url, view, partitions, run.work / "live" / view.name) for view in views}


def _changelog(run: Run, source: Source, cuts: Sequence[TaskCut]) -> DataFrame:
    """A copy of the changelog's rows at the cut; Inconclusive if it was taken too late to be trusted."""
    topic = changelog_topic(run.settings.app_id, source.name)
    places = {TopicPartition(topic, cut.partition) for cut in cuts}
    with told_by(run.cluster):
        starts = run.cluster.log_starts(places)
    spans = changelog_spans(topic, starts, cuts)
    check_spans(run.cluster, spans)
    copied = run.work / source.name / "changelog"
    latest(read_spans(run.spark, java_options(run.settings.kafka), spans), cuts).write.parquet(str(copied))
    lag_ms = _compaction_lag_ms(run, topic)
    committed = [cut for cut in cuts if cut.has_committed]
    with ThreadPoolExecutor() as pool:  # each waits half a second for the end of a partition
        overwritten = pool.map(lambda cut: check_marker(run.client, topic, cut), committed)
    for cut, first_after_ms in zip(committed, overwritten, strict=True):
        if overwritten_too_early(first_after_ms, lag_ms):
            raise Inconclusive(
                f"{topic}-{cut.partition}: more than {lag_ms} ms went by since the position of the export was "
                f"overwritten, so compaction may have removed its rows; run it again, or raise {COMPACTION_LAG}"
            )
    return run.spark.read.parquet(str(copied))


def _check(run: Run, cuts: Sequence[TaskCut]) -> None:
    check_spans(run.cluster, [span for cut in cuts for span in cut.spans])
    if (losses := accepted_losses(cuts)) is not None:
        raise Inconclusive(losses)
    problems = sorted({problem for cut in cuts for problem in not_adding_up(cut)})
    if problems:
        raise Invalid("the marker's ledgers do not add up:\n" + "\n".join(f"  - {text}" for text in problems))


def _advances(run: Run, source: Source, cuts: Sequence[TaskCut]) -> list[Advance]:
    topic = advances_topic(run.settings.app_id)
    spans = joined(span for cut in cuts for span in cut.source_spans)
    told = read_advances(run.client, topic, _decided_partitions(run, topic), spans)
    return obeyed(told, source)


def _records(run: Run, source: Source, views: Sequence[View], cuts: Sequence[TaskCut]) -> DataFrame:
    spans = joined(span for cut in cuts for span in cut.source_spans)
    schemas = RegistrySchemas(Registry(run.settings), [subject_of(topic.name) for topic in source.topics])
    if others := resolved_otherwise([cut.marker for cut in cuts], schemas):
        raise Invalid("the registry is not the one that the records were read by:\n" + "\n".join(others))
    raw = read_spans(run.spark, java_options(run.settings.kafka), spans)
    with run.report.timed("decode"):
        rules = source_rules_of(source, [cut.marker for cut in cuts])
        folder, look_up = run.work / source.name / "source", partial(read_value, run.client)
        records = read_source(raw, source, views, schemas, folder, rules, look_up)
        records, usable = with_refused_then(records, source, _refused_then(run, cuts, spans))
    count = records.count()
    run.report.usable_today += usable
    run.report.records += count
    run.report.records_per_second = round(run.report.records / run.report.seconds["decode"], 1)
    return records


def _refused_then(run: Run, cuts: Sequence[TaskCut], spans: Sequence[Span]) -> dict[Place, str]:
    if not any(position.quarantined for cut in cuts for position in cut.source_inputs.values()):
        return {}
    topic = quarantine_topic(run.settings.app_id)
    return read_refused_then(run.client, topic, _decided_partitions(run, topic), spans)


def _decided_partitions(run: Run, topic: str) -> int:
    """How many there are, once what tasks have written to them can be read: they write side by side."""
    count = _partition_count(run, topic)
    with told_by(run.cluster):
        await_decided(run.cluster, [TopicPartition(topic, partition) for partition in range(count)])
    return count


def _partition_count(run: Run, topic: str) -> int:
    with told_by(run.cluster):
        return run.cluster.topics([topic])[topic].partitions


def _compaction_lag_ms(run: Run, topic: str) -> int:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = admin_client(run.settings.kafka)
    told = admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_SECONDS)[resource].result()
    return int(told[COMPACTION_LAG].value)


def _require_cluster(settings: Settings) -> None:
    """Ask once and briefly: later questions wait longer."""
    try:
        topic_states(settings.kafka, [])
    except KafkaUnavailable as error:
        raise Inconclusive(str(error)) from error


def _by_source(views: Sequence[View]) -> Iterable[tuple[Source, list[View]]]:
    sources = {view.source.number: view.source for view in views}
    return [(source, [view for view in views if view.source.number == n]) for n, source in sources.items()]


def _new_report(settings: Settings) -> Report:
    now = datetime.now(UTC)
    versions = {name: version(name) for name in ("flagfall", "pyspark")} | {"python": platform.python_version()}
    return Report(new_run_id(now), settings.app_id, now, versions)
