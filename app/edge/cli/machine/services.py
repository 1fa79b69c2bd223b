"""`flagfall services`: Kafka, the registry and Connect as local processes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from app.edge.cli.common import echo_json, echo_table, json_option, load_settings, tell
from app.edge.cli.jars import ALL_SETS, CONNECT_SETS, LOCAL_SETS, fetch_missing

if TYPE_CHECKING:
    from app.base.settings import Settings


@click.group()
def command() -> None:
    """Start, stop and watch Kafka and the registry on this machine, and Kafka Connect where it is wanted.

    \b
    flagfall services up
    flagfall services up --with connect
    flagfall services status --json
    FLAGFALL_SERVICES_KAFKA_PORT=29092 flagfall services up
    flagfall services down
    """


@command.command()
@click.option(
    "--with",
    "wanted",
    multiple=True,
    type=click.Choice(["connect"]),
    help="Kafka Connect too, with Debezium's JDBC sink: docs/connect.md.",
)
@json_option
def up(wanted: tuple[str, ...], as_json: bool) -> None:
    """Start what does not run yet, and wait until it answers. What runs is left alone."""
    from app.base.services import local

    settings = load_settings()
    fetch_missing(settings, (*LOCAL_SETS, *(CONNECT_SETS if wanted else ())))
    local.up(settings, tell, wanted=wanted)
    show(settings, as_json)


@command.command()
@json_option
def down(as_json: bool) -> None:
    """Stop all that runs; their data stays, and the next `up` continues with it."""
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
    """Start Kafka, the registry and Spark once, apart, and keep Java's classes as they have them: they start sooner.

    Needs a minute for each version of Java and of theirs, and 300 MB in the cache; those of three are kept. What runs
    is left alone.

    \b
    flagfall services archive && flagfall services up
    """
    from app.base.services.archiving import archive_services
    from app.edge.local.lifetime import die_with_parent, unwind_on_term
    from spark_batch.rehearsal import archive_spark

    settings = load_settings()
    fetch_missing(settings, (*LOCAL_SETS, "spark"))
    unwind_on_term()
    die_with_parent()
    archive_services(settings, tell)
    archive_spark(settings, tell)
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
