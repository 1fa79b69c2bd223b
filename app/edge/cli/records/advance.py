"""`flagfall advance`: close windows by hand, when no further ride will."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import click

from app.edge.cli.common import bootstrap_option, echo_json, json_option, load_catalogue, load_settings
from app.edge.cli.instant import INSTANT
from app.edge.cli.records.sending import close_windows

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.domain.catalogue import TaskGroup


@click.command()
@click.option(
    "--to",
    "instant",
    required=True,
    type=INSTANT,
    metavar="TIME",
    help="With zone, such as 2026-01-06T05:00+00:00: windows that a ride up to then can be in are closed.",
)
@click.option(
    "--group", "groups", multiple=True, metavar="NAME", help="Only this task group; repeatable. Default: all."
)
@bootstrap_option
@json_option
def command(instant: dt.datetime, groups: tuple[str, ...], bootstrap_server: str | None, as_json: bool) -> None:
    """Ask the workers to raise every watermark, so that windows close without a further ride.

    What comes later and belongs to a closed window is late. The workers write what they did, and from which offset
    on it holds, so a recomputation knows it.

    \b
    flagfall advance --to 2026-01-06T05:00+00:00
    flagfall advance --to 2026-01-06T05:00+00:00 --group rides
    """
    settings = load_settings(bootstrap_server)
    clock_ms = round(instant.timestamp() * 1000)
    asked = {group.name: close_windows(settings, group, clock_ms) for group in _groups(settings, groups)}
    if as_json:
        return echo_json({"closing_watermark_us": asked})
    for name, watermark_us in asked.items():
        at = dt.datetime.fromtimestamp(watermark_us / 1e6, dt.UTC)
        click.echo(f"{name}: asked for watermarks of {at:%Y-%m-%d %H:%M:%S} UTC (longest window and grace added)")


def _groups(settings: Settings, names: tuple[str, ...]) -> list[TaskGroup]:
    catalogue = load_catalogue(settings)
    try:
        return [catalogue.group(name) for name in dict.fromkeys(names)] or list(catalogue.groups)
    except KeyError as error:
        raise click.BadParameter(str(error.args[0]), param_hint="--group") from error
