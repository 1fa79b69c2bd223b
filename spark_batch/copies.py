"""What a run copies of one source, all to the same cut: stored rows, records, and what else decided about these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from confluent_kafka.admin import ConfigResource, ResourceType
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.base.kafka.administrator import admin_client
from app.base.kafka.clients import java_options
from app.base.names import advances_topic, changelog_topic, quarantine_topic, subject_of
from app.base.registry.client import Registry
from app.base.registry.schemas import RegistrySchemas
from app.domain.advance import Advance, obeyed
from app.domain.catalogue import TaskGroup
from app.domain.obeyed import source_rules_of
from app.domain.pairs.pairing import Pairing
from app.domain.records import Place, TopicPartition
from app.domain.source import Source
from app.domain.view import View
from spark_batch.errors import Inconclusive, Invalid
from spark_batch.layers.history import Decode
from spark_batch.run import Reconciliation
from spark_batch.source.around import read_around, telling_of_more, unreadable
from spark_batch.source.far_stamps import failed_at_one, read_beside
from spark_batch.source.kafka_range import check_spans, read_spans, told_by
from spark_batch.source.log_reader import check_marker, overwritten_too_early, read_advances, read_value
from spark_batch.source.places import ORIGIN, TOPIC_PARTITION
from spark_batch.source.read_schemas import resolved_otherwise
from spark_batch.source.read_source import STORED, kept_columns, read_source
from spark_batch.source.refused_then import read_refused_then, with_refused_then
from spark_batch.source.schemas_held import full_tasks, not_held
from spark_batch.stored.changelog import changelog_spans, latest
from spark_batch.stored.cut import SourceCut, Span, TaskCut, joined
from spark_batch.stored.export_client import Export, fetch_exports

REQUEST_TIMEOUT_SECONDS = 30.0
COMPACTION_LAG = "min.compaction.lag.ms"

Stored = TypeVar("Stored")


def copy_exports(run: Reconciliation, group: TaskGroup, views: Sequence[View]) -> dict[str, list[Export]]:
    """Each view's rows, task by task, as the workers export them."""
    partitions, folder = range(run.partition_count(group.sources[0].topics[0].name)), run.work / "live"
    return {view.name: fetch_exports(run.worker, group, view, partitions, folder / view.name) for view in views}


def copy_changelog(run: Reconciliation, group: TaskGroup, source: Source, cuts: Sequence[TaskCut]) -> DataFrame:
    """A copy of the changelog's rows of a source's views at the cut; Inconclusive if taken too late to be trusted."""
    topic = changelog_topic(run.settings.app_id, group.name)
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


def copy_advances(run: Reconciliation, source: Source, cuts: Sequence[SourceCut]) -> list[Advance]:
    """Raised watermarks that count for records of the source."""
    topic = advances_topic(run.settings.app_id)
    spans = joined(span for cut in cuts for span in cut.source_spans)
    told = read_advances(run.client, topic, run.decided_partitions(topic), spans)
    return obeyed(told, source)


def copy_records(
    run: Reconciliation,
    source: Source,
    views: Sequence[View],
    cuts: Sequence[SourceCut],
    pairing: Sequence[Pairing] = (),
) -> DataFrame:
    """The records below the cut, decoded and judged by the rules that their tasks obeyed."""
    spans = joined(span for cut in cuts for span in cut.source_spans)
    schemas = _schemas(run, source)
    if others := resolved_otherwise([cut.marker for cut in cuts], schemas):
        raise Invalid("the registry is not the one that the records were read by:\n" + "\n".join(others))
    refused = _refused_then(run, cuts, spans)
    with run.report.timed("decode"):
        folder, columns = _folder(run, source), kept_columns(source, views, pairing)
        read = partial(_read, run, folder, unreadable(refused))
        decode = _decoding(run, source, cuts, schemas, folder, None if run.history else columns)
        with telling_of_more():
            if run.history:
                records = run.history.records(source, spans, columns, refused, read, decode)
            else:
                records = read(spans, decode)
        records, usable = with_refused_then(records, source, refused)
    count = records.count()
    run.report.usable_today += usable
    run.report.records += count
    run.report.records_per_second = round(run.report.records / run.report.seconds["decode"], 1)
    return records


def require_as_in_topics(run: Reconciliation, cuts: Sequence[TaskCut], records: DataFrame) -> None:
    """Invalid, naming a record, where the history holds some of those below the cut otherwise than topics do: what it
    holds is files, and files can be changed. `records`: of the history, with the columns that the view reads.

    Of what topics have let go, what it has decoded is compared with what it has read.
    """
    assert run.history is not None
    source, spans = cuts[0].source, joined(span for cut in cuts for span in cut.source_spans)
    refused, folder = _refused_then(run, cuts, spans), run.work / source.name / "anew"
    with told_by(run.cluster):
        starts = run.cluster.log_starts(span.at for span in spans)
    there = [replace(span, start=min(max(span.start, starts[span.at]), span.end)) for span in spans]
    gone = [replace(span, end=begun.start) for span, begun in zip(spans, there, strict=True)]
    columns = kept_columns(source, [cuts[0].view])
    decode = _decoding(run, source, cuts, _schemas(run, source), folder, columns)
    with telling_of_more():
        anew = _read(run, folder, unreadable(refused), there, decode)
        if any(span.end > span.start for span in gone):
            decode = _decoding(run, source, cuts, _schemas(run, source), folder / "gone", columns)
            anew = anew.unionByName(decode(run.history.raw(source, gone).drop("topic_number")))
    judged, _ = with_refused_then(anew, source, refused)
    names = [*ORIGIN, "timestamp_ms", "reason", *columns]
    held = records.join(F.broadcast(_bounds(run, source, spans)), [*TOPIC_PARTITION]).where("offset < next_offset")
    sides = (held.select(*names, F.lit(1).alias("side")), judged.select(*names, F.lit(-1).alias("side")))
    unlike = sides[0].unionByName(sides[1]).groupBy(*names).agg(F.sum("side").alias("side")).where("side != 0")
    if first := unlike.orderBy(*ORIGIN).limit(1).collect():
        number, partition, offset = first[0][:3]
        topic = next(topic.name for topic in source.topics if topic.number == number)
        raise Invalid(
            f"{run.settings.history_dir}: of {source.name} it holds a record otherwise than it was read: "
            f"{Place(topic, partition, offset)}"
        )


def _bounds(run: Reconciliation, source: Source, spans: Sequence[Span]) -> DataFrame:
    told = [(source.topic(span.topic).number, span.partition, span.end) for span in spans]
    return run.spark.createDataFrame(told, "topic_number int, partition int, next_offset long")


def _schemas(run: Reconciliation, source: Source) -> RegistrySchemas:
    return RegistrySchemas(Registry(run.settings), [subject_of(topic.name) for topic in source.topics])


def _decoding(
    run: Reconciliation,
    source: Source,
    cuts: Sequence[SourceCut],
    schemas: RegistrySchemas,
    folder: Path,
    columns: Sequence[str] | None,
) -> Decode:
    rules, look_up = source_rules_of(source, [cut.marker for cut in cuts]), partial(read_value, run.client)
    return partial(
        read_source,
        source=source,
        schemas=schemas,
        folder=folder,
        rules=rules,
        look_up=look_up,
        columns=columns,
    )


def schemas_not_held(run: Reconciliation, source: Source, cuts: Sequence[SourceCut]) -> list[int]:
    """Ids that records name, as `copy_records` has stored them, and that the tasks' markers have no room for."""
    held = full_tasks(cut.marker for cut in cuts)
    if not held:
        return []
    spans = joined(span for cut in cuts for span in cut.source_spans)
    if run.history:
        stored = run.history.raw(source, spans)
    else:
        stored = run.spark.read.parquet(str(_folder(run, source) / STORED))
    return not_held(stored, source, held, _refused_then(run, cuts, spans))


def _folder(run: Reconciliation, source: Source) -> Path:
    return run.work / source.name / "source"


def _read(
    run: Reconciliation,
    folder: Path,
    unread: Collection[Place],
    spans: Sequence[Span],
    store: Callable[[DataFrame], Stored],
) -> Stored:
    """Records of the spans, stored; read again without Spark's reader where that fails at a timestamp."""
    options = java_options(run.settings.kafka)
    unread = [place for place in unread if any(place in span for span in spans)]
    run.report.offsets_read += sum(span.end - span.start for span in spans)
    try:
        return store(read_around(run.spark, partial(read_spans, run.spark, options), spans, unread))
    except (Py4JError, PySparkException) as error:
        if not failed_at_one(error):
            raise
    beside = partial(read_beside, run.spark, options, run.client, folder / "far-stamped")
    return store(read_around(run.spark, beside, spans, unread))


def _refused_then(run: Reconciliation, cuts: Sequence[SourceCut], spans: Sequence[Span]) -> dict[Place, str]:
    if not any(position.quarantined for cut in cuts for position in cut.source_inputs.values()):
        return {}
    topic = quarantine_topic(run.settings.app_id)
    return read_refused_then(run.client, topic, run.decided_partitions(topic), spans)


def _compaction_lag_ms(run: Reconciliation, topic: str) -> int:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = admin_client(run.settings.kafka)
    told = admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_SECONDS)[resource].result()
    return int(told[COMPACTION_LAG].value)
