"""`flagfall schemas`: the values' Avro schemas, and the registry's word on them."""

from __future__ import annotations

import click

from app.edge.cli.common import echo_json, echo_table, json_option, load_catalogue, load_settings


@click.group()
def command() -> None:
    """List, register and check the schemas.

    \b
    flagfall schemas list --json
    flagfall schemas register
    flagfall schemas check
    """


@command.command("list")
@json_option
def list_schemas(as_json: bool) -> None:
    """Every subject with its record and number of fields; asks no registry."""
    from app.topics import value_schemas

    settings = load_settings()
    schemas = value_schemas(settings, load_catalogue(settings))
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
    from app.definitions.registered import register_schemas

    settings = load_settings()
    ids = register_schemas(settings, load_catalogue(settings))
    if as_json:
        return echo_json(ids)
    echo_table(("SUBJECT", "ID"), ids.items())


@command.command()
@json_option
def check(as_json: bool) -> int:
    """Compare the registry's subjects with ours; exit 1 if one is missing, or does not fit."""
    from app.definitions.registered import schema_states

    settings = load_settings()
    states = schema_states(settings, load_catalogue(settings))
    if as_json:
        echo_json(states)
    else:
        echo_table(("SUBJECT", "STATE"), states.items())
    return 0 if set(states.values()) <= {"registered", "fits"} else 1
