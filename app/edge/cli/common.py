"""What commands share: the options that name the cluster, the way to print, and the settings they lead to."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from app.base.addresses import require_ports
from app.base.printable import printable

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.domain.catalogue import Catalogue

PROGRAM: Final = "flagfall"
"""Under this name a command logs what it tells, where it logs JSON."""

Command = TypeVar("Command", bound=Callable[..., Any])


def bootstrap_option(command: Command) -> Command:
    """`--bootstrap-server`, as Kafka's own tools call it; passes `bootstrap_server`."""
    return click.option(
        "--bootstrap-server",
        metavar="HOST:PORT",
        callback=_with_ports,
        help="The cluster. Default: FLAGFALL_KAFKA_BOOTSTRAP_SERVER.",
    )(command)


def _with_ports(_context: click.Context, _option: click.Parameter, address: str | None) -> str | None:
    try:
        return address and require_ports(address)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def json_option(command: Command) -> Command:
    """`--json`: facts for programs; passes `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def load_catalogue(settings: Settings) -> Catalogue:
    """The sources and views of these settings. DefinitionError naming every mistake of the definition file."""
    from app.definitions.load import catalogue_of

    return catalogue_of(settings)


def load_settings(bootstrap_server: str | None = None) -> Settings:
    """The environment's settings, with what the command line says about the cluster."""
    from app.base.settings import Settings

    return Settings.load(**({"kafka": {"bootstrap_server": bootstrap_server}} if bootstrap_server else {}))


def tell(text: str, level: int = logging.INFO) -> None:
    """A line about what happens, apart from the facts on standard output. `level`: of the line in JSON."""
    from app.base.log_lines import logs_json

    if logs_json():
        logging.getLogger(PROGRAM).log(level, "%s", click.unstyle(text))
    else:
        click.echo(text, err=True)


def echo_json(facts: Any) -> None:
    click.echo(json.dumps(facts, indent=2, default=str))


def _is_number(cell: Any) -> bool:
    return cell is None or isinstance(cell, int | float)


def echo_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], null: str = "") -> None:
    """Columns under headings; numbers to the right. Nothing is cut, whatever the width; no cell steers the terminal."""
    cells = [list(row) for row in rows]
    texts = [[null if cell is None else printable(str(cell)) for cell in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(headings, *texts, strict=True)]
    right = [bool(cells) and all(_is_number(row[i]) for row in cells) for i in range(len(headings))]

    def line(texts: Sequence[str]) -> str:
        padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(texts, widths, right, strict=True))
        return "  ".join(padded).rstrip()

    click.secho(line(headings), bold=True)
    for row in texts:
        click.echo(line(row))
