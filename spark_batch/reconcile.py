"""One run: copy what is stored, recompute it from the source to the same cut, compare, name, report.

exports ──┬─▶ cut ─▶ checks ─▶ source records ─▶ recomputed rows ─┐
          └─▶ changelog up to each marker ────────────────────────┴─▶ compare ─▶ explain ─▶ report
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import SparkSession

from app.base.asking import Unanswered
from app.base.errors import KafkaUnavailable, RegistryUnavailable
from app.base.files.trail import Trail
from app.base.files.verdicts import LastVerdicts, Verdict
from app.base.kafka.committed import LogRefused, LogSilent
from app.base.kafka.topic_admin import described
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.domain.catalogue import Catalogue, TaskGroup
from app.domain.marker import MOST_SCHEMAS
from app.domain.naming.evidence import Translator
from app.domain.source import Source
from app.domain.view import View
from app.domain.windows.scope import Scope
from app.rights import KafkaRole, RightsMissing, require_rights
from app.topics import source_topics
from spark_batch.alone import run_alone
from spark_batch.check_view import check_view
from spark_batch.copies import copy_advances, copy_changelog, copy_exports, copy_records, schemas_not_held
from spark_batch.errors import Inconclusive, Invalid, NoVerdict
from spark_batch.findings.report import Report, new_run_id
from spark_batch.findings.written import RUN_FILES, write_report
from spark_batch.folds.corrections import read_told
from spark_batch.layers.history import history_of
from spark_batch.pairs.check import JudgedSource, check_pairing
from spark_batch.published.topics import FinalsTopics
from spark_batch.run import Progressing, Reconciliation
from spark_batch.source.kafka_range import check_spans
from spark_batch.source.watermark import with_watermark
from spark_batch.stored.cut import SourceCut, TaskCut
from spark_batch.stored.export_client import Export
from spark_batch.stored.ledgers import accepted_losses, inputs_not_adding_up, not_adding_up

FIRST_ANSWER_SECONDS = 10.0
"""Within which a worker says that it is there, however busy it is."""


def reconcile(
    settings: Settings,
    session: AbstractContextManager[SparkSession],
    groups: Sequence[TaskGroup],
    *,
    worker: WorkerDoor,
    output: Path,
    work: Path,
    progress: Progressing = lambda words: nullcontext(),
    translator: Translator | None = None,
    with_completeness: bool = False,
    scope: Scope | None = None,
    third: Path | None = None,
) -> Report:
    """Check the groups' views and write the report below `output`. No verdict is a verdict too.

    `session` is entered once the cluster has answered, and left before the report is written. `latest.json` in `output`
    says that the run began, and at its end what it found, unless it is of a stretch alone; `trail.jsonl` gets a signed
    line of it. Copies of rows and records, often gigabytes, are made below `work`, which is the caller's to remove.
    `translator`: what workers make rows by; without it no difference is LOGIC. `with_completeness`: also what the rows
    would be if no record were late, and none came twice. `scope`: of which windows rows are compared; of all by
    default. `third`: the folder of third opinions that views are compared with, too. Raises TrailBroken, KeyUnusable,
    AnotherRun and OSError of the history's place, before anything is begun, so that what was found last stays told.
    """
    report = _new_report(settings, scope)
    views = [view for group in groups for view in group.views]
    trail, verdicts = Trail(output), LastVerdicts(output, settings.app_id)
    trail.require_usable(settings.audit_key_file)
    with run_alone(output, settings.history_dir, settings.app_id):
        if not report.is_of_a_stretch:
            verdicts.write_begun([view.name for view in views], report.begun)
        try:
            _require_topics(settings, groups)
            _require_worker(worker)
            with session as spark:
                history = history_of(spark, settings.history_dir, settings.app_id)
                run = Reconciliation(
                    settings, spark, worker, work, report, progress, translator, with_completeness, history, third
                )
                finals = FinalsTopics(run, views)
                for group in groups:
                    _reconcile_group(run, group, finals)
            if report.is_right and report.lacks_windows:
                raise Inconclusive(
                    f"no view has a row in {report.scope}: they have left the tables, or are yet to come"
                )
            if report.is_right and report.lacks_third:
                raise Inconclusive("\n".join(report.lacks_third))
            report.verdict = Verdict.MATCH if report.is_right else Verdict.MISMATCH
        except (NoVerdict, LogSilent, LogRefused, RegistryUnavailable) as error:
            report.verdict, report.reason = _broken_off(report, error)
            report.reason += _of_history(settings, report.reason)
            shutil.rmtree(work, ignore_errors=True)  # the disk may be full, and the report is still to be written
        report.finished_at = datetime.now(UTC)
        write_report(report, output / report.run_id)
        if not report.is_of_a_stretch:
            verdicts.write_finished(report.found(views))
        report.line = trail.append(report.of_trail, RUN_FILES, settings.audit_key_file)
    return report


def _broken_off(report: Report, error: Exception) -> tuple[Verdict, str]:
    """The verdict of a run that did not get to its end, and why; of what it has compared, each has its own."""
    if isinstance(error, Invalid | LogRefused):
        return Verdict.INVALID, str(error)
    if not report.is_right:
        return Verdict.MISMATCH, f"Not all was compared. {error}"
    return Verdict.INCONCLUSIVE, str(error)


def _of_history(settings: Settings, reason: str) -> str:
    """What to do where files of the history are what could not be read."""
    if settings.history_dir is None or str(settings.history_dir) not in reason:
        return ""
    return (
        f". It is of the history in {settings.history_dir}: move its silver and gold away, they are made anew of "
        "bronze; bronze too, if the topics still hold all of it"
    )


def _reconcile_group(run: Reconciliation, group: TaskGroup, finals: FinalsTopics) -> None:
    """Its views, source by source; then its joins and alerts, at the position of the rows that were fetched first."""
    cuts, read = list[TaskCut](), dict[int, JudgedSource]()
    for source, views in _by_source(group.views):
        exports = _exports(run, group, views)
        cuts = cuts or [export.cut for export in exports[views[0].name]]
        read[source.number] = _reconcile_source(run, group, source, exports, finals)
    for pairing in group.pairing:
        sources = {source.number: source for source in map(pairing.source_of, pairing.topics)}
        for number, source in sources.items():
            if number not in read:
                read[number] = _read_for_pairing(run, group, source, cuts)
        found = check_pairing(run, pairing, cuts, read)
        for source in sources.values():
            _require_known_schemas(run, source, cuts, [pairing.name] if not found.is_right else [])
        run.report.pairings.append(found)


def _read_for_pairing(run: Reconciliation, group: TaskGroup, source: Source, cuts: Sequence[SourceCut]) -> JudgedSource:
    """Records that joins or alerts read, and no view."""
    own = [SourceCut(source, cut.partition, cut.marker, cut.changelog_offset) for cut in cuts]
    with run.step("checks", f"checking that the topics of {source.name} hold what the cut claims"):
        _check(run, own, [problem for cut in own for problem in inputs_not_adding_up(cut)])
        advances = copy_advances(run, source, own)
    with run.step("read", f"reading and decoding the records of {source.name}"):
        records = copy_records(run, source, (), own, group.pairing)
    return JudgedSource(with_watermark(records, source, advances).cache(), advances)


def _exports(run: Reconciliation, group: TaskGroup, views: Sequence[View]) -> Mapping[str, Sequence[Export]]:
    with run.step("exports", "fetching the workers' rows"):
        return copy_exports(run, group, views)


def _reconcile_source(
    run: Reconciliation,
    group: TaskGroup,
    source: Source,
    exports: Mapping[str, Sequence[Export]],
    finals: FinalsTopics,
) -> JudgedSource:
    """Compares the views, and gives what they were compared with."""
    cuts = [export.cut for of_view in exports.values() for export in of_view]
    views = list(dict.fromkeys(cut.view for cut in cuts))
    with run.step("checks", "checking that the topics hold what the cut claims"):
        _check(run, cuts, [problem for cut in cuts for problem in not_adding_up(cut)])
        advances = copy_advances(run, source, cuts)
        told = read_told(run.client, run.settings.app_id, group, cuts)
    with run.step("changelog", "copying the changelog up to the same position"):
        stored = copy_changelog(run, group, source, cuts)
    with run.step("read", "reading and decoding the source records"):
        records = copy_records(run, source, views, cuts, group.pairing)
    marked = with_watermark(records, source, advances).cache()
    for view in views:
        found = check_view(run, exports[view.name], stored, marked, advances, told, finals)
        _require_known_schemas(run, source, cuts, [] if found.is_right else [view.name])
        run.report.views.append(found)
    return JudgedSource(marked, advances)


def _require_known_schemas(
    run: Reconciliation, source: Source, cuts: Sequence[SourceCut], differing: Sequence[str]
) -> None:
    """Inconclusive where something differs and not every schema that records were read by can be compared."""
    if differing and (ids := schemas_not_held(run, source, cuts)):
        raise Inconclusive(
            f"{', '.join(differing)}: something differs, and it cannot be told from a registry that is another one: "
            f"tasks read records by {len(ids)} more schemas than their markers hold ({MOST_SCHEMAS} each), ids "
            f"{ids[0]} to {ids[-1]}. Compare what the registry says of these with what it said then"
        )


def _check(run: Reconciliation, cuts: Sequence[SourceCut], contradictions: Iterable[str]) -> None:
    check_spans(run.cluster, [span for cut in cuts for span in run.to_be_read(cut)])
    if (losses := accepted_losses(cuts)) is not None:
        raise Inconclusive(losses)
    if problems := sorted(set(contradictions)):
        raise Invalid("the marker's ledgers do not add up:\n" + "\n".join(f"  - {text}" for text in problems))


def _require_topics(settings: Settings, groups: Sequence[TaskGroup]) -> None:
    """Asks once and briefly: later questions wait longer. Invalid where a source's topic is not there, or those of a
    group have other numbers of partitions: then there may be no worker to ask."""
    by_group = [[t for source in group.sources for t in source_topics(settings, source)] for group in groups]
    try:
        require_rights(settings, Catalogue((*groups,)), KafkaRole.RECONCILE)
        known = described(settings.kafka, [topic for topics in by_group for topic in topics])
    except (KafkaUnavailable, RightsMissing) as error:
        raise Inconclusive(str(error)) from error
    if missing := [topic.name for topics in by_group for topic in topics if topic.name not in known]:
        raise Invalid(f"no topic {', '.join(missing)}: deleted with the records of the tables, or not created yet")
    for topics in by_group:
        numbers = {topic.name: known[topic.name].partitions for topic in topics}
        if len({*numbers.values()}) > 1:
            told = ", ".join(f"{name} has {number}" for name, number in numbers.items())
            raise Invalid(f"partitions: {told}; a task reads equal ones of all: `flagfall widen` makes them even")


def _require_worker(worker: WorkerDoor) -> None:
    """Asks whether anything answers, whatever it says: what else is asked of it comes after Spark's start."""
    try:
        worker.get("/livez", timeout_seconds=FIRST_ANSWER_SECONDS)
    except Unanswered as error:
        raise Inconclusive(f"{error}; is a worker running there?") from error


def _by_source(views: Sequence[View]) -> Iterable[tuple[Source, list[View]]]:
    sources = {view.source.number: view.source for view in views}
    return [(source, [view for view in views if view.source.number == n]) for n, source in sources.items()]


def _new_report(settings: Settings, scope: Scope | None) -> Report:
    now = datetime.now(UTC)
    versions = {name: version(name) for name in ("flagfall", "pyspark")} | {"python": platform.python_version()}
    return Report(new_run_id(now), settings.app_id, now, versions, scope=scope)
