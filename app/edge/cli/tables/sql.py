"""`flagfall sql`: statements over the rows of views, answered by a running worker; by a prompt too."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.common import echo_json, echo_table, json_option, tell
from app.edge.cli.tables.asked import QueryError, document_of, door_of_worker
from app.edge.cli.worker_url import worker_option
from app.edge.formats.csv_rows import line
from app.edge.formats.format import Document

if TYPE_CHECKING:
    from app.base.worker_door import WorkerDoor

TIMEOUT_SECONDS = 120.0
"""Longer than a worker may take."""
MORE = "a worker tells no more of them (FLAGFALL_HTTP_STATEMENT_ROWS). Ask for fewer."


@click.command()
@click.argument("statement", required=False)
@click.option("--from", "from_", metavar="INSTANT", help="Read windows from here on, as 2024-01-31T08:00:00Z.")
@click.option("--to", metavar="INSTANT", help="Read windows that start before this.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@worker_option
def command(
    *, statement: str | None, from_: str | None, to: str | None, as_json: bool, as_csv: bool, worker_url: str | None
) -> None:
    """Ask a running worker in SQL.

    Every view is a table, and DuckDB's dialect is spoken. Without STATEMENT it is read from standard input; at a
    terminal there is a prompt.

    \b
    flagfall sql "SELECT zone, zone_name, sum(rides) FROM zone_demand GROUP BY ALL ORDER BY 3 DESC LIMIT 10"
    flagfall sql "DESCRIBE zone_demand"
    flagfall sql --csv < statement.sql
    flagfall sql
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv: choose one")
    worker = door_of_worker(worker_url)
    ask = partial(_ask, worker, {name: at for name, at in (("from", from_), ("to", to)) if at is not None})
    show = echo_json if as_json else _print_csv if as_csv else _print_table
    if statement is not None or not sys.stdin.isatty():
        show(ask(_piped() if statement is None else statement))
    else:
        _converse(worker, lambda text: show(ask(text)))


def _piped() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"standard input is no UTF-8: {error}") from None


def _ask(worker: WorkerDoor, within: dict[str, str], statement: str) -> Document:
    asked = {"sql": statement, **within}
    return document_of(worker.url, lambda: worker.post("/v1/sql", asked, timeout_seconds=TIMEOUT_SECONDS))


def _converse(worker: WorkerDoor, answer: Callable[[str], None]) -> None:
    from app.edge.cli.tables.sql_prompt import SqlPrompt

    views = document_of(worker.url, lambda: worker.get("/v1/views", timeout_seconds=TIMEOUT_SECONDS))["data"]
    SqlPrompt(views, answer).run()


def _print_csv(answer: Document) -> None:
    if answer["meta"]["cut"]:
        raise QueryError(f"There are more rows than {len(answer['data']):,}, and lines of CSV would not tell: {MORE}")
    names = [column["name"] for column in answer["columns"]]
    for values in (names, *answer["data"]):
        sys.stdout.write(line(map(_cell, values)))


def _print_table(answer: Document) -> None:
    """Whole rows, and below them how many, and as of when."""
    echo_table([column["name"] for column in answer["columns"]], [list(map(_cell, row)) for row in answer["data"]], "–")
    read = answer["meta"]["views"]
    as_of = ", ".join(f"{name} as of {meta['as_of'] or 'no common watermark yet'}" for name, meta in read.items())
    found = len(answer["data"])
    tell(f"{found:,} {'row' if found == 1 else 'rows'}" + (f"; {as_of}" if as_of else ""))
    if answer["meta"]["cut"]:
        tell(f"There are more rows: {MORE}")


def _cell(value: Any) -> Any:
    """As a line of text has it: lists and structures as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
