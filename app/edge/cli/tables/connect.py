"""`flagfall connect`: finals into PostgreSQL by Kafka Connect, whether they are all there, and files in."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.edge.cli.common import bootstrap_option, echo_json, json_option, load_catalogue, load_settings, tell

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.domain.view import View


def _postgres(context: click.Context, parameter: click.Parameter, given: str) -> str:
    from app.edge.connectors.address import WrongAddress, require_address

    try:
        require_address(given)
    except WrongAddress as error:
        raise click.BadParameter(str(error)) from error
    return given


def _named(context: click.Context, parameter: click.Parameter, given: Path) -> Path:
    if not given.name:
        raise click.BadParameter("a file has a name; this is none")
    return given


def _bounded(context: click.Context, parameter: click.Parameter, given: float) -> float:
    if not math.isfinite(given):
        raise click.BadParameter(f"{given} is no number of seconds")
    return given


view_argument = click.argument("view", metavar="VIEW")
table_option = click.option("--table", metavar="NAME", help="Default: the view's name.")
database_option = click.option(
    "--database",
    metavar="URL",
    default="postgresql://postgres@127.0.0.1:5432/postgres",
    show_default=True,
    callback=_postgres,
    help="PostgreSQL 15 or later. Its password is read from PGPASSWORD, here and by Connect.",
)


@click.group()
def command() -> None:
    """Keep a view's final rows in PostgreSQL, and bring files in, by Kafka Connect.

    What is printed is what PostgreSQL and Connect take; docs/connect.md goes through it.

    \b
    flagfall services up --with connect
    flagfall connect table zone_demand | psql postgresql://postgres@127.0.0.1/postgres
    flagfall connect sink zone_demand > zone_demand.json
    curl -X PUT -H 'Content-Type: application/json' -d @zone_demand.json \\
      http://127.0.0.1:18083/connectors/zone_demand/config
    flagfall connect check zone_demand
    """


@command.command()
@view_argument
@table_option
def table(view: str, table: str | None) -> None:
    """SQL of the table of VIEW's finals, one row per window, group and revision; of a table that is there, of the
    columns that it lacks.

    \b
    flagfall connect table zone_demand
    flagfall connect table zone_demand --table demand | psql postgresql://postgres@127.0.0.1/postgres
    """
    from app.edge.connectors.columns import table_name
    from app.edge.connectors.postgres import table_statements

    found = _with_finals(load_settings(), view)
    click.echo(table_statements(found, table_name(found, table)), nl=False)


@command.command()
@view_argument
@table_option
@database_option
@click.option("--tasks", default=1, show_default=True, type=click.IntRange(1), help="That share the partitions.")
def sink(view: str, table: str | None, database: str, tasks: int) -> None:
    """The configuration of a connector that keeps VIEW's finals in the table.

    \b
    flagfall connect sink zone_demand
    flagfall connect sink zone_demand --database postgresql://taxi@127.0.0.1/taxi --table demand
    """
    from app.edge.connectors.columns import table_name
    from app.edge.connectors.sink import sink as configuration

    found = _with_finals(load_settings(), view)
    named = table_name(found, table)
    echo_json(configuration(found, named, database, named, tasks))


@command.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), callback=_named)
@click.option("--topic", required=True, metavar="NAME", help="That the lines go to; Connect makes it.")
def source(file: Path, topic: str) -> None:
    """The configuration of a connector that brings the lines of FILE into a topic, each once, as the file grows.

    \b
    flagfall connect source rides.csv --topic imports.csv
    """
    from app.edge.connectors.source import file_source, told_beforehand

    settings = load_settings()
    _require_free(settings, topic)
    if (why := told_beforehand(file)) is not None:
        tell(f"{file}: {why}")
    echo_json(file_source(file, topic, topic, settings.topics.replication_factor))


@command.command()
@view_argument
@table_option
@database_option
@click.option(
    "--connector", metavar="NAME", help="That keeps the table. Default: as `sink` names it, the table's name."
)
@click.option(
    "--wait",
    "wait_seconds",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0),
    callback=_bounded,
    help="Seconds for finals that the connector has not come to yet.",
)
@bootstrap_option
@json_option
def check(
    *,
    view: str,
    table: str | None,
    database: str,
    connector: str | None,
    wait_seconds: float,
    bootstrap_server: str | None,
    as_json: bool,
) -> int:
    """Compare the table with the finals that were published until now, value by value.

    How far the connector is, Kafka tells: it is the consumer group connect-<connector>. Exit 0 if the table holds all
    finals, and nothing else; 10 if a row differs, is lost or was never published; 11 if finals are still to come.

    \b
    flagfall connect check zone_demand
    flagfall connect check zone_demand --database postgresql://taxi@127.0.0.1/taxi --json
    """
    from app.base.names import sink_group
    from app.edge.cli.tables.connect_shown import document, show, verdict
    from app.edge.connectors.columns import table_name
    from app.edge.connectors.look import SinkTable, look
    from app.rights import require_table_check

    settings = load_settings(bootstrap_server)
    found = _with_finals(settings, view)
    named = table_name(found, table)
    kept = SinkTable(found, database, named, sink_group(connector or named))
    require_table_check(settings, kept.topic, kept.group)
    tell(f"reading {kept.topic}")
    seen = look(settings, kept, wait_seconds)
    if as_json:
        echo_json(document(kept, seen))
    else:
        show(kept, seen)
    return verdict(seen).value


def _require_free(settings: Settings, topic: str) -> None:
    """Raises UsageError for a topic that a file's lines must not go to."""
    from app.base.names import connect_topics
    from app.edge.connectors.source import TOPIC_NAME
    from app.topics import topics

    if not TOPIC_NAME.fullmatch(topic) or topic in (".", ".."):
        raise click.UsageError(
            f"{topic!r} is no name of a topic: letters of a to z, digits, '.', '_' and '-', 249 at most"
        )
    if topic in {one.name for one in topics(settings, load_catalogue(settings))}:
        raise click.UsageError(f"{topic} is a topic of {settings.app_id}: lines would be quarantined there, or worse")
    if topic in connect_topics(settings.app_id).values():
        raise click.UsageError(f"{topic} is where Connect keeps what it knows: lines there would end it; name another")
    if topic.startswith("__"):
        raise click.UsageError(f"{topic}: names that begin with __ are Kafka's own topics; name another")


def _with_finals(settings: Settings, name: str) -> View:
    from app.domain.errors import did_you_mean

    views = {view.name: view for view in load_catalogue(settings).finals}
    if name not in views:
        told = f"{name!r} is no view whose windows end, so that it publishes finals{did_you_mean(name, views)}"
        raise click.UsageError(f"{told}; there are {', '.join(views)}")
    return views[name]
