"""What `flagfall connect check` has found, for people and as a document."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import click

from app.edge.connectors.frames import NoFinal
from app.edge.connectors.look import SinkTable, TableSeen

MOST_SHOWN = 10
"""Rows of a difference, and records that are no finals; `--json` gives all."""


class TableVerdict(Enum):
    """Whether the table holds all finals, and nothing else; the value is the exit code."""

    MATCH = 0
    MISMATCH = 10
    INCONCLUSIVE = 11


def verdict(seen: TableSeen) -> TableVerdict:
    """What is wrong counts before what is still to come. A record that is no final is neither: nobody is to have it."""
    if not seen.found.is_right:
        return TableVerdict.MISMATCH
    return TableVerdict.INCONCLUSIVE if seen.found.to_come else TableVerdict.MATCH


def document(kept: SinkTable, seen: TableSeen) -> dict[str, Any]:
    """For programs."""
    found = seen.found
    return {
        "verdict": verdict(seen).name,
        "equal": found.equal,
        "to_come": found.to_come,
        "forgotten": found.forgotten,
        "group": kept.group,
        "reached": seen.reached,
        "missing": found.missing.to_dicts(),
        "altered": found.altered.to_dicts(),
        "foreign": found.foreign.to_dicts(),
        "no_finals": [one._asdict() for one in seen.no_finals],
    }


def show(kept: SinkTable, seen: TableSeen) -> None:
    """For people."""
    found = seen.found
    click.echo(f"{verdict(seen).name}  {found.equal:,} rows are as they were published")
    if found.to_come:
        click.echo(_to_come(kept, seen))
    if found.forgotten:
        click.echo(f"{found.forgotten:,} rows are of finals that the topic does not hold any more")
    for what, rows in (
        ("finals are not in the table, and the connector is past them", found.missing),
        ("rows have other values", found.altered),
        ("rows were never published", found.foreign),
    ):
        if len(rows):
            click.echo(f"{len(rows):,} {what}:")
            for row in rows.head(MOST_SHOWN).to_dicts():
                click.echo(f"  {_cells(row)}")
    if seen.no_finals:
        click.echo(f"{len(seen.no_finals):,} records of the topic are no finals, and not compared:")
        for one in seen.no_finals[:MOST_SHOWN]:
            click.echo(f"  {_told(kept, one)}")


def _cells(row: Mapping[str, Any]) -> str:
    return "  ".join(f"{column}={'NULL' if value is None else value}" for column, value in row.items())


def _to_come(kept: SinkTable, seen: TableSeen) -> str:
    count = f"{seen.found.to_come:,} finals are"
    if seen.reached:
        return f"{count} still to be written: /connectors/<name>/status says whether it runs"
    return (
        f"{count} not there, lost or still to be written: the group {kept.group} has no offsets. A connector that "
        "has just begun commits its first after a minute: ask again then. If there are none still, it never ran, is "
        "called otherwise (--connector), or its offsets were deleted"
    )


def _told(kept: SinkTable, one: NoFinal) -> str:
    where = f"{kept.topic}-{one.partition} at {one.offset}"
    if one.is_empty:
        return f"{where} is empty; the sink passes over it"
    return f"{where} is of another kind; the sink's task fails there until it is passed over by hand (docs/connect.md)"
