"""`flagfall query`: rows of a view from a running worker, as a table or in any of the formats."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from app.base.printable import printable
from app.edge.cli.common import Command, echo_json, tell
from app.edge.cli.records.sending import progress
from app.edge.cli.tables.asked import document_of, door_of_worker
from app.edge.cli.tables.pages import PagedRows, next_cursor, pages
from app.edge.cli.worker_url import worker_option
from app.edge.formats.format import MOST_DOCUMENTS, Document
from app.edge.formats.table import FORMATS

if TYPE_CHECKING:
    from app.base.asking import Answer
    from app.base.terminal import Terminal

GROUP = "Only this group; repeatable. vendor=null: without one; vendor='\"null\"': of the text null."
LIMIT = f"Rows to show, as many as there are if it is high; over {MOST_DOCUMENTS:,} by several requests. Default: 100."


def _format_options(command: Command) -> Command:
    """An option for each format; passes `as_<its name>`."""
    for written in reversed(FORMATS):
        command = click.option(f"--{written.name}", f"as_{written.name}", is_flag=True, help=f"Print {written.help}.")(
            command
        )
    return command


@click.command()
@click.argument("view")
@click.option("--zone", "zones", multiple=True, help="A zone's number, or null; the same as --group zone=…")
@click.option("--group", "groups", multiple=True, metavar="NAME=VALUE", help=GROUP)
@click.option("--from", "from_", metavar="INSTANT", help="Windows from here on, as 2024-01-31T08:00:00Z.")
@click.option("--to", metavar="INSTANT", help="Windows that start before this.")
@click.option("--window", metavar="LENGTH", help="Fold the panes into longer windows, as 15m or 1h.")
@click.option("--step", metavar="LENGTH", help="Let such windows begin so often, as 5m: they overlap.")
@click.option("--last", metavar="LENGTH", help="One window: the last 15m, say, before --to or the lowest watermark.")
@click.option("--group-by", "group_by", multiple=True, metavar="NAME", help="Keep this group, or `none`; repeatable.")
@click.option("--top", type=int, help="So many rows, the highest first.")
@click.option("--by", metavar="NAME", help="With --top: the measure or figure that decides. Default: count.")
@click.option("--among", metavar="window|group|all", help="With --top: the highest of each, or of all.")
@click.option("--measure", "measures", multiple=True, metavar="NAME", help="Only this measure or figure; repeatable.")
@click.option("--limit", type=int, help=LIMIT)
@click.option("--cursor", help="Go on where the answer before ended.")
@click.option("--min-position", metavar="PLACE:OFFSET,…", help="Wait until this is covered: rides.yellow-0:51235.")
@click.option("--newest", is_flag=True, help="Newest windows first.")
@click.option("--partial", "is_partial", is_flag=True, help="Take an answer that lacks partitions, which it names.")
@click.option("--max-staleness", metavar="LENGTH", help="Take rows so old where nobody has newer ones: 30s.")
@worker_option
@_format_options
def command(
    *,
    view: str,
    zones: tuple[str, ...],
    groups: tuple[str, ...],
    group_by: tuple[str, ...],
    measures: tuple[str, ...],
    from_: str | None,
    newest: bool,
    is_partial: bool,
    worker_url: str | None,
    limit: int | None,
    **asked: Any,
) -> None:
    """Ask a running worker for rows of VIEW.

    \b
    flagfall query zone_demand --zone 132 --window 1h
    flagfall query zone_demand --zone 132 --window 1h --step 15m --newest
    flagfall query zone_demand --last 15m --top 10 --by rides
    flagfall query zone_demand --window 1h --group-by none --measure tip_cents
    flagfall query vendor_trips --csv
    flagfall query zone_demand --limit 1000000 --ndjson > rows.ndjson
    flagfall query zone_demand --limit 100000 --parquet > rows.parquet
    """
    formats = [written for written in FORMATS if asked.pop(f"as_{written.name}")]
    if len(formats) > 1:
        raise click.UsageError(f"{' and '.join(f'--{written.name}' for written in formats)}: choose one")
    parameters = [("zone", zone) for zone in zones] + [_pair(group) for group in groups]
    parameters += [("group_by", name) for name in group_by] + [("measures", name) for name in measures]
    told = {
        "from": from_,
        "order": "desc" if newest else None,
        "partial": "allow" if is_partial else None,
    } | asked
    parameters += [(name, str(value)) for name, value in told.items() if value is not None]
    written = formats[0] if formats else FORMATS[0]
    if not written.is_text and sys.stdout.isatty():
        raise click.UsageError(f"--{written.name} is no text: send it to a file, as > rows.{written.name}")
    question = PagedRows(f"/v1/views/{quote(view, safe='')}/rows", parameters, written, limit)
    worker = door_of_worker(worker_url)
    with progress("rows", limit or 0, quiet=not question.is_long or sys.stdout.isatty()) as advanced:
        answers = pages(worker, question, advanced)
        if written is not FORMATS[0]:
            _print_written(question, answers)
            return
        document = _document(worker.url, question, answers)
    if formats:
        echo_json(document)  # for eyes too: indented
    else:
        _print_table(view, document, measures)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.UsageError(f"--group {text}: give NAME=VALUE, as --group zone=132")
    return name, value


def _pieces(question: PagedRows, written: Iterator[bytes]) -> Iterable[bytes]:
    joined = question.written.joined
    return joined(written) if question.is_long and joined is not None else written


def _document(url: str, question: PagedRows, answers: Iterator[Answer]) -> Document:
    from app.base.asking import OK, Answer

    content = b"".join(_pieces(question, (answer.content for answer in answers)))
    return document_of(url, lambda: Answer(url, OK, content))


def _print_written(question: PagedRows, answers: Iterator[Answer]) -> None:
    """As the worker wrote it; on a terminal without what would steer it. What has no place in it is told beside it."""
    heard, is_terminal = list[Mapping[str, str]](), sys.stdout.isatty()

    def contents() -> Iterator[bytes]:
        for answer in answers:
            heard.append(answer.headers)
            yield answer.content

    for piece in _pieces(question, contents()):
        click.echo(printable(piece.decode(errors="replace"), lines=True) if is_terminal else piece, nl=False)
    if any(headers.get("flagfall-partial") == "true" for headers in heard):
        tell("Some partitions are missing; without --csv they are named.")
    for stale in dict.fromkeys(headers.get("flagfall-stale") for headers in heard):
        if stale:
            tell(f"Something may have come since: PARTITION:SECONDS {stale}")
    if not question.written.has_meta and (cursor := next_cursor(heard[-1])) is not None:
        tell(f"There are more: --cursor {cursor}")


def _seen(row: Document, asked: Collection[str]) -> Document:
    """What a table shows of a row; --json and --csv have the rest (fingerprint, histograms, counts of values that
    nobody asked for)."""
    window = {} if row["window"] is None else {"window_start": row["window"]["start"]}
    told = {**row["measures"], **row.get("figures", {})}
    values = {k: v for k, v in told.items() if not isinstance(v, list) and (k in asked or not k.endswith("_values"))}
    rank = {"rank": row["rank"]} if "rank" in row else {}
    seen = {**rank, **window, **row["group"], **values, "state": row["state"]}
    return {name: _short(value) for name, value in seen.items()}


def _short(value: Any) -> Any:
    if isinstance(value, dict):  # a bin, open where it has no end
        return " to ".join("…" if value[end] is None else str(value[end]) for end in ("from", "to"))
    if isinstance(value, float):
        return round(value, 4)
    return printable(value) if isinstance(value, str) else value


def _width(lines: list[dict[str, Any]]) -> int:
    """Columns of the terminal that the table needs to stay legible."""
    return sum(3 + max(len(name), *(len(str(line[name])) for line in lines)) for name in lines[0])


def _print_blocks(console: Terminal, title: str, lines: list[dict[str, Any]]) -> None:
    """One row below the other, a figure a line, for terminals that are too narrow."""
    console.print(title, style="italic")
    for line in lines:
        console.print()
        for name, value in line.items():
            console.print(f"{name:<26} {'–' if value is None else value}")


def _print_table(view: str, answer: dict[str, Any], asked: Collection[str]) -> None:
    from rich.table import Table

    from app.base.terminal import Terminal

    console, meta = Terminal(), answer["meta"]
    lines = [_seen(row, asked) for row in answer["data"]]
    title = f"{view} as of {meta['as_of'] or 'no common watermark yet'}"
    table = Table(title=title, title_justify="left")
    for name in lines[0] if lines else ():
        numbers = all(line[name] is None or isinstance(line[name], int | float) for line in lines)
        table.add_column(name, justify="right" if numbers else "left")
    for line in lines:
        table.add_row(*("–" if value is None else str(value) for value in line.values()))
    if not lines:
        console.print(f"{view}: no rows for these filters, as of {meta['as_of'] or 'no common watermark yet'}.")
        if meta["as_of"] is not None:
            console.print("--last ends there, or at --to; without it --newest shows the last rows that there are.")
    elif _width(lines) <= console.width:
        console.print(table)
    else:
        _print_blocks(console, title, lines)
    for stale in meta.get("stale", ()):  # an older worker has none
        seconds = math.ceil(stale["seconds"])
        console.print(f"partition {stale['partition']} may lack what came in the last {seconds} s", style="yellow")
    for missing in meta["missing"]:
        console.print(f"partition {missing['partition']} is missing: {missing['why']}", style="yellow")
    if meta["as_of"] is None and meta["held_back_by"]:
        console.print(f"no record yet in {', '.join(meta['held_back_by'])}: nothing closes", style="yellow")
    if meta["zones"]["why"]:
        console.print(f"names from topic {meta['zones']['topic']}: {meta['zones']['why']}", style="yellow")
    if meta["next_cursor"]:
        console.print(f"There are more: --cursor {meta['next_cursor']}", soft_wrap=True)
