"""`flagfall advance`: close windows by hand, when no further ride will."""

from __future__ import annotations

import datetime as dt

import click

from app.edge.cli.common import bootstrap_option, echo_json, json_option, load_settings
from app.edge.cli.sending import close_windows


@click.command()
@click.option(
    "--to",
    "instant",
    required=True,
    metavar="TIME",
    help="With zone, such as 2026-01-06T05:00+00:00: windows that a ride up to then can be in are closed.",
)
@bootstrap_option
@json_option
def command(instant: str, bootstrap_server: str | None, as_json: bool) -> None:
    """Ask the workers to raise every watermark, so that windows close without a further ride.

    What comes later and belongs to a closed window is late. The workers write what they did, and from which offset
    on it holds, so a recomputation knows it.

    \b
    flagfall advance --to 2026-01-06T05:00+00:00
    """
    try:
        to = dt.datetime.fromisoformat(instant)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--to") from error
    if to.tzinfo is None:
        raise click.BadParameter(f"{instant} has no time zone; add one, e.g. +00:00", param_hint="--to")
    watermark_us = close_windows(load_settings(bootstrap_server), round(to.timestamp() * 1000))
    if as_json:
        return echo_json({"closing_watermark_us": watermark_us})
    asked = dt.datetime.fromtimestamp(watermark_us / 1e6, dt.UTC)
    click.echo(f"asked for watermarks of {asked:%Y-%m-%d %H:%M:%S} UTC (the longest window and its grace added)")
