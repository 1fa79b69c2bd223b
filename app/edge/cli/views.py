"""`flagfall views`: what the definitions say, in words and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.common import echo_json, echo_table, json_option

if TYPE_CHECKING:
    from app.domain.view import View


@click.group()
def command() -> None:
    """List the views, and describe one.

    \b
    flagfall views list
    flagfall views describe zone_demand
    """


@command.command("list")
@json_option
def list_views(as_json: bool) -> None:
    """Every view with its window and groups."""
    from app.rides.views import VIEWS

    if as_json:
        return echo_json([_facts(view) for view in VIEWS])
    rows = [(v.name, v.version, _window(v), ", ".join(g.name for g in v.groups), v.help) for v in VIEWS]
    echo_table(("VIEW", "VERSION", "WINDOW", "GROUPS", "WHAT"), rows)


@command.command()
@click.argument("view")
@json_option
def describe(view: str, as_json: bool) -> None:
    """Groups, window, measures, and the cells of a stored row in order."""
    from app.rides.views import view_named

    try:
        found = view_named(view)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from error
    if as_json:
        return echo_json(_facts(found))
    click.secho(f"{found.name}, version {found.version}", bold=True)
    click.echo(f"{found.help}\n")
    click.echo(f"source     {found.source.name}: {', '.join(t.name for t in found.source.topics)}")
    click.echo(f"window     {_window(found)}, grace {found.grace_seconds} s, kept {found.retention_seconds} s\n")
    echo_table(("GROUP", "COLUMN"), [(group.name, group.column) for group in found.groups])
    click.echo()
    measures = [(m.name, type(m).__name__.lower(), getattr(m, "column", ""), m.help) for m in found.measures]
    echo_table(("MEASURE", "KIND", "COLUMN", "WHAT"), measures)
    click.echo()
    echo_table(("CELL", "NAME"), enumerate(found.cells))


def _window(view: View) -> str:
    from app.domain.view import Tumbling

    if isinstance(view.window, Tumbling):
        return f"{view.window.size_seconds} s by {view.window.column}"
    return "all time"


def _facts(view: View) -> dict[str, Any]:
    from app.domain.view import Tumbling

    window = asdict(view.window) if isinstance(view.window, Tumbling) else None
    return {
        "view": view.name,
        "number": view.number,
        "version": view.version,
        "help": view.help,
        "source": view.source.name,
        "window": window,
        "grace_seconds": view.grace_seconds,
        "retention_seconds": view.retention_seconds,
        "groups": [asdict(group) for group in view.groups],
        "measures": [{"kind": type(m).__name__.lower(), **asdict(m)} for m in view.measures],
        "cells": list(view.cells),
    }
