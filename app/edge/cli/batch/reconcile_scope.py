"""Which windows `flagfall reconcile` compares, as its options name them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.edge.cli.instant import INSTANT

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.domain.view import View
    from app.domain.windows.scope import Scope

LAST = "last"

date_option = click.option(
    "--date",
    "day",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Compare windows with a part in this day (UTC) alone.",
)
from_option = click.option(
    "--from", "begin", type=INSTANT, help="Compare windows with a part in the time from here on."
)
to_option = click.option("--to", "end", type=INSTANT, help="… and before.")
since_option = click.option(
    "--since",
    type=click.Choice([LAST]),
    help="Compare windows that had not ended when the last run found them right; all, before there was one.",
)


def scope_of(
    day: dt.datetime | None, begin: dt.datetime | None, end: dt.datetime | None, *, is_since: bool
) -> Scope | None:
    """What the options name; None for all windows. click.UsageError where they contradict one another."""
    from app.domain.windows.scope import Scope

    named = [day is not None, begin is not None or end is not None, is_since]
    if sum(named) > 1:
        raise click.UsageError("give one of --date, --from and --to, and --since")
    if day is not None:
        begin = day.replace(tzinfo=dt.UTC)
        try:
            end = begin + dt.timedelta(days=1)
        except OverflowError as error:
            raise click.BadParameter(f"{day:%Y-%m-%d} is the last day that there is", param_hint="--date") from error
    if begin is None and end is None:
        return None
    for option, instant in (("--from", begin), ("--to", end)):
        _require_in_utc(option, instant)
    try:
        return Scope(_us(begin), _us(end))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _require_in_utc(option: str, instant: dt.datetime | None) -> None:
    """Reports tell it so."""
    try:
        _ = instant and instant.astimezone(dt.UTC)
    except OverflowError as error:
        words = f"{instant} is in UTC before the year 1 or after 9999"
        raise click.BadParameter(words, param_hint=option) from error


def since_last_run(settings: Settings, views: Sequence[View], runs: Path) -> Scope | None:
    """As --since last has it, by the trail in the folder of the runs."""
    from app.base.files.trail import Trail
    from spark_batch.findings.since import since_last

    return since_last(Trail(runs), settings.app_id, views)


def _us(instant: dt.datetime | None) -> int | None:
    return None if instant is None else (instant - dt.datetime.fromtimestamp(0, dt.UTC)) // dt.timedelta(microseconds=1)
