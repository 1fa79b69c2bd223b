"""`flagfall late`: the records that were refused, how they come back, and what it costs that they came late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.base.printable import printable
from app.domain.errors import did_you_mean
from app.edge.cli.common import bootstrap_option, echo_json, json_option, load_catalogue, load_settings, tell
from app.edge.cli.records.selecting import refuse_unknown, require_any, selecting, selection_of
from app.edge.cli.records.sending import progress
from app.edge.cli.worker_url import worker_option

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.domain.catalogue import Catalogue
    from app.edge.late.refused import RefusedRecord, Selection


@click.group()
def command() -> None:
    """Records that came too late, or cannot be used.

    \b
    flagfall late show --reason late --view zone_demand
    flagfall late refeed --reason unknown_schema --dry-run
    flagfall late cost
    """


@command.command()
@selecting
@click.option("--values", "with_values", is_flag=True, help="Decode the records, where that can be done now.")
@click.option(
    "--limit", type=click.IntRange(0), default=50, show_default=True, help="Records to list; all are counted."
)
@bootstrap_option
@json_option
def show(*, with_values: bool, limit: int, bootstrap_server: str | None, as_json: bool, **asked: Any) -> None:
    """List records that were refused, and count them by reason.

    \b
    flagfall late show --topic rides.yellow --partition 2 --offsets 5000:6000
    flagfall late show --reason out_of_bounds --values --json --limit 1000 > mended.json
    """
    from app.base.registry.client import Registry
    from app.base.registry.schemas import RegistrySchemas
    from app.edge.cli.records.telling import echo_refused, refused_as_json
    from app.edge.late.mending import Reader
    from app.edge.late.originals import Originals

    settings = load_settings(bootstrap_server)
    catalogue = load_catalogue(settings)
    selection = selection_of(catalogue, **asked)
    listed: list[RefusedRecord] = []
    counts: Counter[tuple[str, str, str]] = Counter()
    for record in _read(settings, selection, quiet=as_json):
        counts.update((record.reason, *view) for view in selection.views_of(record).items() or [("", "")])
        if len(listed) < limit:
            listed.append(record)
    read = None
    if with_values:
        read = Reader(catalogue.by_topic, RegistrySchemas(Registry(settings)), Originals(settings.kafka))
    if not counts:
        refuse_unknown(catalogue, views=asked["views"], topics=asked["topics"])
    if as_json:
        return echo_json(refused_as_json(listed, counts, read))
    echo_refused(listed, counts, read)


@command.command()
@selecting
@click.option(
    "--mended",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Values to take instead of what the records say: JSON as `late show --values --json` gives it. Only "
    "records in it are re-fed.",
)
@click.option("--all", "is_all", is_flag=True, help="Every refused record.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@worker_option
@click.option("--wait", "wait_seconds", type=float, default=60.0, show_default=True, help="Seconds to wait for a task.")
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="Lines to list.")
@bootstrap_option
@json_option
def refeed(
    *,
    file: Path | None,
    is_all: bool,
    dry_run: bool,
    worker_url: str | None,
    wait_seconds: float,
    limit: int,
    bootstrap_server: str | None,
    as_json: bool,
    views: tuple[str, ...],
    **asked: Any,
) -> int:
    """Add refused records to the rows of closed windows, each once, however often this is run.

    Exit 1 if a task refused a correction or did not answer in time; what the rules leave out is told, and is no error.

    \b
    flagfall late refeed --reason late --view zone_demand --dry-run
    flagfall late refeed --mended mended.json
    """
    from app.base.registry.client import Registry
    from app.base.registry.schemas import RegistrySchemas
    from app.base.worker_door import door_of
    from app.edge.cli.records.telling import echo_run, run_as_json
    from app.edge.late.mending import read_mended
    from app.edge.late.refeed import Refeeding

    require_any(is_all=is_all, selected=[file, views, *(given not in (None, ()) for given in asked.values())])
    settings = load_settings(bootstrap_server)
    catalogue = _catalogue_with(settings, views)
    mended = read_mended(file, catalogue.by_topic) if file else {}
    if file and not mended:
        raise click.BadParameter(f"no record in {file} has values: nothing is to be re-fed", param_hint="--mended")
    selection = selection_of(catalogue, views=views, **asked, places=frozenset(mended))
    run = Refeeding(settings, catalogue, door_of(settings, worker_url), wait_seconds, dry=dry_run)
    refused = list(_read(settings, selection, quiet=as_json))
    places = {record.place for record in refused}
    missing = sorted(set(mended) - places)
    if missing:
        raise click.ClickException("not among the refused records selected: " + ", ".join(map(str, missing)))
    told = []
    at_first = len(places)
    with progress("records", at_first, quiet=as_json) as advanced:
        for one in run.feed(refused, RegistrySchemas(Registry(settings)), mended, only=views):
            told.append(one)
            places.discard(one.place)  # one that several views refused is told of for each
            advanced(at_first - len(places))
    if as_json:
        echo_json(run_as_json(run, told))
    else:
        echo_run(run, told, limit)
    return int(any(one.outcome in {"refused", "unanswered"} for one in told))


@command.command()
@click.option(
    "--view", "views", multiple=True, metavar="NAME", help="This view; repeatable. Default: all with windows."
)
@worker_option
@bootstrap_option
@json_option
def cost(*, views: tuple[str, ...], worker_url: str | None, bootstrap_server: str | None, as_json: bool) -> None:
    """Say how many records were late for each view, and how their means differ from those that were kept.

    \b
    flagfall late cost
    flagfall late cost --view zone_demand --json
    """
    from app.base.registry.client import Registry
    from app.base.registry.schemas import RegistrySchemas
    from app.base.worker_door import door_of
    from app.edge.cli.records.telling import echo_costs
    from app.edge.late.cost import cost as cost_of
    from app.edge.late.originals import Originals
    from app.edge.late.refused import LATE, Selection
    from app.edge.late.standing import Outcomes, task

    settings = load_settings(bootstrap_server)
    catalogue = _catalogue_with(settings, views)
    worker = door_of(settings, worker_url)
    outcomes = {source.name: Outcomes(settings, group.name) for group in catalogue.groups for source in group.sources}
    schemas = RegistrySchemas(Registry(settings))
    chosen = [v for v in catalogue.views if (v.name in views if views else v.window.ends)]
    tasks = {view: [task(worker, view, p) for p in range(settings.topics.partitions)] for view in chosen}
    selection = Selection(
        reasons=frozenset({LATE}),
        views=frozenset(view.name for view in chosen),
        versions=frozenset(view.version for view in chosen),
    )
    late, whole = list(_read(settings, selection, quiet=as_json)), Originals(settings.kafka)
    costs = [
        cost_of(view, of_view, outcomes[view.source.name], map(whole, late), schemas) for view, of_view in tasks.items()
    ]
    if as_json:
        return echo_json([one.as_json() for one in costs])
    echo_costs(costs)


def _catalogue_with(settings: Settings, views: Iterable[str]) -> Catalogue:
    """All sources and views; click.BadParameter if one of these views is not among them."""
    catalogue = load_catalogue(settings)
    known = [view.name for view in catalogue.views]
    for name in views:
        if name not in known:
            told = f"no view {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)}"
            raise click.BadParameter(told, param_hint="--view")
    return catalogue


def _read(settings: Settings, selection: Selection, *, quiet: bool) -> Iterator[RefusedRecord]:
    from app.edge.late.refused import RefusedLog

    log = RefusedLog(settings)
    with progress("offsets", log.offsets, quiet=quiet) as advanced:
        yield from log.selected(selection, advanced)
    if log.foreign:
        told = f"passed over, as no worker wrote them: {len(log.foreign)} records; the first: {log.foreign[0]}"
        tell(printable(told))
