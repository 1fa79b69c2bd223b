"""`flagfall rebuild`: begin the tables anew from what the topics hold now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.common import bootstrap_option, echo_json, echo_table, json_option, load_settings
from app.edge.cli.records.sending import progress
from app.edge.cli.tables.mending import group_of, source_option, stopped_group, yes_option

if TYPE_CHECKING:
    from app.engine.core.mending.rebuilding import Rebuild
    from app.engine.drive.ownership.mending import MendableTask, StoppedGroup

    Plan = Mapping[int, tuple[MendableTask, Rebuild]]


@click.command()
@source_option
@yes_option
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@bootstrap_option
@json_option
def command(*, source: str, yes: bool, dry_run: bool, bootstrap_server: str | None, as_json: bool) -> int:
    """Begin all tables of a source's tasks anew, from the first record that its topics still have.

    For records that were lost (LOG_LOSS), a topic that was created anew, and tables that are wrong. Raised watermarks
    are taken where they were recorded, never asked for again. What was published for closed windows stays as it is,
    and is not published again. The workers build the tables when they are started. Exit 1 if nothing was done.

    \b
    flagfall rebuild --dry-run
    flagfall rebuild --yes
    """
    from app.engine.drive.ownership.rebuilding import planned

    if yes and dry_run:
        raise click.UsageError("--yes does it, --dry-run does not: give one of them")
    settings = load_settings(bootstrap_server)
    tasks = stopped_group(settings, group_of(settings, source))
    plan = asyncio.run(_rebuilt(tasks, quiet=as_json) if yes else planned(tasks))
    places, views = list(_places(plan)), [view.name for view in tasks.definition.views]
    if as_json:
        echo_json({"rebuilt": yes, "tasks": sorted(plan), "views": views, "places": places})
    else:
        _echo(places, views, rebuilt=yes)
    return int(not (yes or dry_run))


async def _rebuilt(group: StoppedGroup, *, quiet: bool) -> Plan:
    from app.engine.drive.ownership.rebuilding import planned, rebuild

    there = sum(task.progress[1] for _, task in (await planned(group)).values())
    with progress("offsets", there, quiet=quiet) as advanced:
        return await rebuild(group, lambda done, _: advanced(done))


def _places(plan: Plan) -> Iterator[dict[str, Any]]:
    """Each topic-partition of records: what the tables counted, and what they will be built from."""
    for partition, (at, task) in plan.items():
        for topic, to_offset in task.to_offsets.items():
            known, log = at.marker.inputs[topic], at.logs[topic]
            yield {
                "place": f"{topic}-{partition}",
                "counted_from": known.start_offset,
                "counted_to": known.next_offset,
                "from": log.start,
                "to": to_offset,
                "created_anew": known.topic_id != log.topic_id,
            }


def _echo(places: list[dict[str, Any]], views: list[str], *, rebuilt: bool) -> None:
    if not places:
        click.echo("no task has written anything: tables begin where their topics do by themselves")
        return
    echo_table(
        ("topic-partition", "counted from", "to", "built from", "to", ""),
        ([*list(one.values())[:5], "created anew" if one["created_anew"] else None] for one in places),
    )
    click.echo(f"views: {', '.join(views)}")
    if rebuilt:
        click.echo("done: start the workers, which build them; answers wait until then")
    else:
        click.echo("nothing was changed; --yes begins these anew")
