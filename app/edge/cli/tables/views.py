"""`flagfall views`: what the definitions say, in words and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.common import echo_json, echo_table, json_option, load_catalogue, load_settings

if TYPE_CHECKING:
    from app.domain.figures.contract import Figure
    from app.domain.view import View


@click.group()
def command() -> None:
    """List the views, describe one, and check a definition file.

    \b
    flagfall views list
    flagfall views describe zone_demand
    flagfall views check definitions.toml
    """


@command.command("list")
@json_option
def list_views(as_json: bool) -> None:
    """Every view with its window and groups."""
    views = load_catalogue(load_settings()).views
    if as_json:
        return echo_json([_facts(view) for view in views])
    rows = [
        (v.name, v.version, v.source.name, v.window.describe(), ", ".join(g.name for g in v.groups), v.help)
        for v in views
    ]
    echo_table(("VIEW", "VERSION", "SOURCE", "WINDOW", "GROUPS", "WHAT"), rows)


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def check(file: Path, as_json: bool) -> int:
    """Read the definition file FILE, beside what flagfall brings, and name every mistake; exit 2 if there is one.

    Asks no broker and no registry: `flagfall schemas check` and `flagfall topics check` do.
    """
    from app.definitions.read import read_definitions
    from app.domain.errors import DefinitionError
    from app.edge.http.query.served_names import check_names
    from app.rides.shipped import everything, shipped
    from app.topics import topics

    try:
        settings = load_settings()
        brought = shipped(settings)
        catalogue = read_definitions(file, brought, everything(settings))
        topics(settings, catalogue)
        check_names(catalogue.views)
    except DefinitionError as error:
        if not as_json:
            raise click.UsageError(str(error)) from error
        echo_json({"file": str(file), "problems": error.problems})
        return 2
    added = [view for view in catalogue.views if view not in brought.views]
    sources = [source for source in catalogue.sources if source not in brought.sources]
    if as_json:
        echo_json({"file": str(file), "problems": [], "views": [_facts(view) for view in added]})
        return 0
    if not sources and not added:
        click.echo(f"{file} has no source and no view; those that flagfall brings are there as before")
    for source in sources:
        click.echo(f"source  {source.name}: {', '.join(topic.name for topic in source.topics)}")
    for view in added:
        click.echo(f"view    {view.name}, version {view.version}, over {view.source.name}: {view.window.describe()}")
    return 0


@command.command()
@click.argument("view")
@json_option
def describe(view: str, as_json: bool) -> None:
    """Groups, window, measures, and the cells of a stored row in order."""
    try:
        found = load_catalogue(load_settings()).view(view)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from error
    if as_json:
        return echo_json(_facts(found))
    click.secho(f"{found.name}, version {found.version}", bold=True)
    click.echo(f"{found.help}\n")
    click.echo(f"source     {found.source.name}: {', '.join(t.name for t in found.source.topics)}")
    click.echo(
        f"window     {found.window.describe()}, grace {found.grace_seconds} s, kept {found.retention_seconds} s\n"
    )
    echo_table(("GROUP", "COLUMN"), [(group.name, group.column) for group in found.groups])
    click.echo()
    measures = [(m.name, m.key, getattr(m, "column", ""), m.help) for m in found.measures]
    echo_table(("MEASURE", "KIND", "COLUMN", "WHAT"), measures)
    click.echo()
    if found.figures:
        told_figures = [(f.name, f.key, _made_of(f), f.help) for f in found.figures]
        echo_table(("FIGURE", "KIND", "MADE OF", "WHAT"), told_figures)
        click.echo()
    if rules := found.source.rules_in(found.columns):
        told = [(r.name, "leaves out" if r.name in found.leaves_out else r.action, r.meaning) for r in rules]
        echo_table(("RULE", "ACTION", "HOLDS WHERE"), told)
        click.echo()
    echo_table(("CELL", "NAME"), enumerate(found.cells))


def _made_of(figure: Figure) -> str:
    return ", ".join(f"{name} {said}" for name, said in figure.document().items())


def _facts(view: View) -> dict[str, Any]:
    return {
        "view": view.name,
        "number": view.number,
        "version": view.version,
        "help": view.help,
        "source": view.source.name,
        "window": view.window.fields() or None,
        "grace_seconds": view.grace_seconds,
        "retention_seconds": view.retention_seconds,
        "groups": [asdict(group) for group in view.groups],
        "measures": [{"kind": m.key, **m.fields()} for m in view.measures],
        "figures": [{"kind": f.key, **f.fields()} for f in view.figures],
        "cells": list(view.cells),
        "rules": [asdict(rule) for rule in view.source.rules_in(view.columns)],
        "leaves_out": list(view.leaves_out),
    }
