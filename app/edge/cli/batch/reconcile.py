"""`flagfall reconcile`: recompute the views from the topics, and say whether the tables are right."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.edge.cli.batch.reconcile_scope import (
    date_option,
    from_option,
    scope_of,
    since_last_run,
    since_option,
    to_option,
)
from app.edge.cli.batch.repairs import repairs_made, show_repairs
from app.edge.cli.batch.spark import spark_of, steps_shown, third_root
from app.edge.cli.common import (
    bootstrap_option,
    echo_json,
    json_option,
    load_catalogue,
    load_settings,
)
from app.edge.cli.worker_url import worker_option

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.base.worker_door import WorkerDoor
    from app.domain.catalogue import Catalogue, TaskGroup
    from app.domain.records import Record
    from app.domain.rows import Cells
    from app.domain.view import View
    from app.domain.windows.scope import Scope
    from spark_batch.findings.report import Report


@click.command()
@click.option(
    "--view",
    "names",
    multiple=True,
    metavar="NAME",
    help="Check this view; may be given again. Default: all, and joins and alerts.",
)
@worker_option
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the run's directory is made. Default: reconciliation/ in FLAGFALL_DATA_DIR.",
)
@click.option(
    "--completeness",
    is_flag=True,
    help="Also say what rows would be if no record were late, refused then or there twice, and name the records.",
)
@click.option(
    "--third",
    "with_third",
    is_flag=True,
    help="Also compare views with what `flagfall third` keeps of them, and name the records that only one counts.",
)
@click.option(
    "--repair",
    type=click.Choice(["plan", "apply"]),
    default="plan",
    show_default=True,
    help="Rows that differ and are explained, in closed windows: say how many, or set them right.",
)
@click.option(
    "--most-repairs",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Set none right if there are more of them: that many have a cause that is to be mended first.",
)
@date_option
@from_option
@to_option
@since_option
@bootstrap_option
@json_option
def command(
    *,
    names: tuple[str, ...],
    worker_url: str | None,
    output: Path | None,
    completeness: bool,
    with_third: bool,
    repair: str,
    most_repairs: int,
    day: dt.datetime | None,
    begin: dt.datetime | None,
    end: dt.datetime | None,
    since: str | None,
    bootstrap_server: str | None,
    as_json: bool,
) -> int:
    """Recompute views, joins and alerts from the topics with Spark, and say whether the workers are right.

    \b
    flagfall reconcile
    flagfall reconcile --view zone_demand --json
    flagfall reconcile --date 2024-01-31
    flagfall reconcile --from 2024-01-31T00:00-05:00 --to 2024-02-01T00:00-05:00
    flagfall reconcile --since last
    flagfall reconcile --completeness
    flagfall reconcile --third
    flagfall reconcile --repair apply

    \b
    exit 0   MATCH         every row is right
         10  MISMATCH      rows or ledgers differ; the report names the records
         11  INCONCLUSIVE  not ready, too slow, or another run is under way: run it again
         12  INVALID       the topics do not hold what the tables claim to cover
    """
    from app.base.files.verdicts import Verdict
    from app.base.worker_door import door_of
    from app.edge.local.lifetime import unwind_on_term

    scope = scope_of(day, begin, end, is_since=since is not None)
    unwind_on_term()
    settings = load_settings(bootstrap_server)
    catalogue = load_catalogue(settings)
    groups = _groups(catalogue, names)
    worker = door_of(settings, worker_url)
    output = output or settings.data_dir / "reconciliation"
    if since is not None:
        scope = since_last_run(settings, [view for group in groups for view in group.views], output)
    third = _third(settings, groups) if with_third else None
    report, folder = _run(settings, groups, worker, output, scope, third, completeness=completeness, quiet=as_json)
    if not as_json:
        from spark_batch.findings.shown.report import show

        show(report, folder, plans_only=repair != "apply")
    is_wanted = repair == "apply" and report.verdict is Verdict.MISMATCH
    repaired = repairs_made(settings, catalogue, report, most_repairs) if is_wanted else None
    if as_json:
        echo_json(report.as_json() | ({} if repaired is None else {"repaired": repaired}))
    elif repaired is not None:
        show_repairs(repaired)
    return report.verdict.exit_code


def _run(
    settings: Settings,
    groups: list[TaskGroup],
    worker: WorkerDoor,
    output: Path,
    scope: Scope | None,
    third: Path | None,
    *,
    completeness: bool,
    quiet: bool,
) -> tuple[Report, Path]:
    from app.base.files.working_directory import working_directory

    with steps_shown(quiet) as progress, working_directory(output / "work") as work:
        from spark_batch.reconcile import reconcile

        report = reconcile(
            settings,
            spark_of(settings, work / "spark", progress),
            groups,
            worker=worker,
            output=output,
            work=work / "copies",
            progress=progress,
            translator=_translated,
            with_completeness=completeness,
            scope=scope,
            third=third,
        )
    return report, output / report.run_id


def _third(settings: Settings, groups: Sequence[TaskGroup]) -> Path:
    """Where third opinions are; click.UsageError where there is none of any view that is compared."""
    from spark_batch.third.place import ThirdPlace
    from spark_batch.third.query import is_kept

    root, views = third_root(settings), [view for group in groups for view in group.views if is_kept(view)]
    if not views:
        raise click.UsageError("--third: of the views to be compared Spark's stream can keep none")
    if not any(ThirdPlace.of(root, settings.app_id, view).subject for view in views):
        raise click.UsageError(f"--third: none is kept in {root} yet: `flagfall third {views[0].name}` begins one")
    return root


def _translated(view: View, records: Sequence[Record]) -> Cells:
    """By this release's own translator; its loops are loaded when a row is asked for."""
    from app.engine.core.views.again import row_again

    return row_again(view, records)


def _groups(catalogue: Catalogue, names: tuple[str, ...]) -> list[TaskGroup]:
    """Of the views that are named, without joins and alerts; or all."""
    if not names:
        return catalogue.over(catalogue.views)
    try:
        groups = catalogue.over([catalogue.view(name) for name in names])
    except KeyError as error:
        raise click.BadParameter(str(error.args[0]), param_hint="--view") from error
    return [replace(group, joins=(), alerts=()) for group in groups]
