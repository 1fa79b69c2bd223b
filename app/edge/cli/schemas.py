"""`flagfall schemas`: the values' Avro schemas, and the registry's word on them."""

from __future__ import annotations

from dataclasses import asdict
from typing import BinaryIO

import click

from app.base.printable import printable
from app.edge.cli.common import echo_json, echo_table, json_option, load_catalogue, load_settings

LOSES = 3
"""The exit code of a schema to which nobody says no, and of which views would be without something."""


@click.group()
def command() -> None:
    """List, register and check the schemas.

    \b
    flagfall schemas list --json
    flagfall schemas register
    flagfall schemas check
    flagfall schemas check ride-v5.avsc --topic rides.yellow
    """


@command.command("list")
@json_option
def list_schemas(as_json: bool) -> None:
    """Every subject with its record and number of fields; asks no registry."""
    from app.definitions.registered import value_schemas

    schemas = value_schemas(load_catalogue(load_settings()))
    if as_json:
        return echo_json(schemas)
    rows = [(subject, schema["name"], len(schema["fields"])) for subject, schema in schemas.items()]
    echo_table(("SUBJECT", "RECORD", "FIELDS"), rows)


@command.command()
@json_option
def register(as_json: bool) -> None:
    """Register what is not registered yet, under FULL_TRANSITIVE compatibility.

    A topic of your own keeps the schema that it has, if that has the columns of its definition.
    """
    from app.base.names import subject_of
    from app.definitions.registered import register_schemas

    settings = load_settings()
    by_topic = register_schemas(settings, load_catalogue(settings).sources)
    ids = {subject_of(topic): schema_id for topic, schema_id in by_topic.items()}
    if as_json:
        return echo_json(ids)
    echo_table(("SUBJECT", "ID"), ids.items())


@command.command(epilog="Example: flagfall schemas check ride-v5.avsc --topic rides.yellow")
@click.argument("file", required=False, type=click.File("rb"))
@click.option("--topic", help="The topic that FILE would be written to.")
@json_option
def check(file: BinaryIO | None, topic: str | None, as_json: bool) -> int:
    """Compare the registry's subjects with ours; exit 1 if one is missing, or does not fit.

    With FILE, a schema that somebody wants to write with: whether the registry would take it, which of its versions
    and it do not read each other, whether workers could read its records, and what views would be without.
    Nothing is registered.

    \b
    exit 0  take it
         1  the registry, one of its versions or the workers say no
         3  nobody says no, but a column would be null, or values of a union would be quarantined
    """
    if file is None:
        if topic is not None:
            raise click.UsageError("--topic goes with FILE, the schema that would be written to it")
        return _check_registered(as_json)
    if topic is None:
        raise click.UsageError("give --topic, the topic that the schema would be written to")
    return _check_proposed(_text_of(file), topic, as_json)


def _text_of(file: BinaryIO) -> str:
    from app.base.files.bounded import read_bounded

    try:
        return read_bounded(file)
    except UnicodeDecodeError as error:
        told = f"{file.name} is no text in UTF-8 (at byte {error.start:,}), as a schema's JSON must be"
        raise click.ClickException(told) from None


def _check_registered(as_json: bool) -> int:
    from app.definitions.registered import schema_states

    settings = load_settings()
    states = schema_states(settings, load_catalogue(settings))
    if as_json:
        echo_json(states)
    else:
        echo_table(("SUBJECT", "STATE"), states.items())
    return 0 if set(states.values()) <= {"registered", "fits"} else 1


def _check_proposed(text: str, topic: str, as_json: bool) -> int:
    from app.definitions.proposed import proposal_of

    settings = load_settings()
    told = proposal_of(settings, load_catalogue(settings), topic, text)
    if as_json:
        echo_json(asdict(told) | {"is_fit": told.is_fit})
    else:
        click.echo(f"{told.subject}: the registry would {'take' if told.is_accepted else 'refuse'} it")
        unreadable = (f"workers would quarantine its records: {why}" for why in told.unreadable)
        for line in (*told.breaks, *unreadable, *told.losses):
            click.echo(f"  - {printable(line)}")
    if not told.is_fit:
        return 1
    return LOSES if told.losses else 0
