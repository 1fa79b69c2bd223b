"""`flagfall accept-loss`: go on without records that a topic lost before they were read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.common import bootstrap_option, echo_json, echo_table, json_option, load_settings
from app.edge.cli.tables.mending import group_of, source_option, stopped_group, yes_option

if TYPE_CHECKING:
    from app.engine.drive.ownership.mending import MendableTask, StoppedGroup


@click.command("accept-loss")
@source_option
@yes_option
@bootstrap_option
@json_option
def command(*, source: str, yes: bool, bootstrap_server: str | None, as_json: bool) -> int:
    """Show what topics lost before it was read (LOG_LOSS) and, with --yes, let the tasks go on behind it.

    The gap is noted in the markers: workers count it, and `flagfall reconcile` names it and gives no verdict over it.
    `flagfall rebuild` makes tables of what is left, which can be checked. Without --yes nothing is changed, and
    the exit code is 1 if there is a gap.

    \b
    flagfall accept-loss
    flagfall accept-loss --yes
    """
    settings = load_settings(bootstrap_server)
    found = asyncio.run(_gaps(stopped_group(settings, group_of(settings, source)), accepting=yes))
    if as_json:
        echo_json({"accepted": yes and bool(found), "gaps": found})
    elif found:
        echo_table(("topic-partition", "from", "to", "offsets"), (list(gap.values()) for gap in found))
        click.echo(_told(accepted=yes))
    else:
        click.echo("no log begins behind the position of its task: there is nothing to accept")
    return int(bool(found) and not yes)


async def _gaps(group: StoppedGroup, *, accepting: bool) -> list[dict[str, Any]]:
    from app.engine.core.mending.accepting import accept, gaps_of

    if not accepting:
        return _listed(await group.standings())
    async with group.held() as write:
        standings = await group.standings()
        for partition, at in standings.items():
            if gaps := gaps_of(at.marker, at.begin):
                await write(partition, accept(group.definition, at.marker, gaps))
    return _listed(standings)


def _listed(standings: Mapping[int, MendableTask]) -> list[dict[str, Any]]:
    from app.engine.core.mending.accepting import gaps_of

    return [
        {"place": f"{topic}-{partition}", "from": gap.from_offset, "to": gap.to_offset, "offsets": gap.offsets}
        for partition, at in standings.items()
        for topic, gap in gaps_of(at.marker, at.begin).items()
    ]


def _told(*, accepted: bool) -> str:
    if accepted:
        return "accepted: start the workers, which go on behind the gaps"
    return "nothing was changed; --yes lets the tasks go on without these"
