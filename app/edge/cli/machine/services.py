"""`flagfall services`: Kafka and the registry as local processes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import click

from app.edge.cli.common import echo_json, echo_table, json_option, load_settings

if TYPE_CHECKING:
    from app.base.settings import Settings

MEGABYTE = 1_000_000
LOCAL_SETS = ("kafka", "registry")
ALL_SETS = (*LOCAL_SETS, "spark")


@click.group()
def command() -> None:
    """Start, stop and watch Kafka and the registry on this machine.

    \b
    flagfall services up
    flagfall services status --json
    FLAGFALL_SERVICES_KAFKA_PORT=29092 flagfall services up
    flagfall services down
    """


@command.command()
@json_option
def up(as_json: bool) -> None:
    """Start what does not run yet, and wait until it answers. What runs is left alone."""
    from app.base.services import local

    settings = load_settings()
    fetch_missing(settings, LOCAL_SETS)
    local.up(settings, tell)
    show(settings, as_json)


@command.command()
@json_option
def down(as_json: bool) -> None:
    """Stop both; their data stays, and the next `up` continues with it."""
    from app.base.services import local

    stopped = local.down(load_settings(), tell=tell)
    if as_json:
        echo_json({"stopped": stopped})
    elif not stopped:
        click.echo("nothing ran")


@command.command()
@json_option
def status(as_json: bool) -> int:
    """What runs and answers; exit 1 if a service that belongs here does not."""
    return show(load_settings(), as_json)


@command.command()
@click.argument("sets", nargs=-1, type=click.Choice(ALL_SETS))
def fetch(sets: tuple[str, ...]) -> None:
    """Bring every jar into the cache, or those of SETS alone: afterwards nothing needs the network."""
    settings = load_settings()
    fetch_missing(settings, sets or ALL_SETS)
    told = f"the jars of {', '.join(sets)}" if sets else "all jars"
    click.echo(f"{told} are in {settings.cache_dir / 'jars'}, with the pinned sha256")


@command.command()
def archive() -> None:
    """Start Kafka and the registry once, apart, and keep Java's classes as they have them: they start in half the time.

    Needs ten seconds for each version of Java and of theirs, and 110 MB in the cache. What runs is left alone.

    \b
    flagfall services archive && flagfall services up
    """
    from app.base.services.archiving import archive_services

    settings = load_settings()
    fetch_missing(settings, LOCAL_SETS)
    archive_services(settings, tell)
    click.echo(f"the class archives are in {settings.cache_dir / 'classes'}")


def show(settings: Settings, as_json: bool) -> int:
    """Print every service's state, what became of it and what to do; 1 if one is down or silent."""
    from app.base.services import local

    found = local.status(settings)
    if as_json:
        echo_json([asdict(one) for one in found])
    else:
        echo_table(
            ("SERVICE", "STATE", "ADDRESS", "PID", "LOG"),
            [(one.name, one.state, one.address, one.pid, one.log) for one in found],
        )
        for one in found:
            for line in filter(None, (one.deaths, one.what_to_do)):
                click.echo(f"{one.name}: {line}")
    return int(any(one.state not in {"running", "elsewhere"} for one in found))


def fetch_missing(settings: Settings, set_names: Sequence[str]) -> None:
    """Say what is missing and how large it is, then fetch it: bars on a terminal, lines elsewhere."""
    from app.base.services import jars

    absent = {name: jars.missing(name, settings.cache_dir) for name in set_names}
    for name, pins in absent.items():
        if pins:
            size = sum(pin.size_bytes for pin in pins) / MEGABYTE
            tell(f"{name}: fetching {len(pins)} files, {size:.0f} MB, from Maven Central to {settings.cache_dir}")
    wanted = [name for name, pins in absent.items() if pins]
    if not wanted:
        return
    if not sys.stderr.isatty():
        for name in wanted:
            jars.fetch(name, settings.cache_dir)
            tell(f"{name}: fetched and verified")
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from app.base.terminal import Terminal

    columns = (TextColumn("{task.description:10}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Terminal(stderr=True)) as bars:
        for name in wanted:
            bar = bars.add_task(name, total=sum(pin.size_bytes for pin in absent[name]))
            jars.fetch(name, settings.cache_dir, partial(bars.advance, bar))


def tell(text: str) -> None:
    """A line about what happens, apart from the facts on standard output."""
    click.echo(text, err=True)
