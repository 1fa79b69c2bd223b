"""`flagfall replay`: the rides of TLC files, written to the ride topics as if they were reported now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.base.printable import printable
from app.edge.cli.common import bootstrap_option, echo_json, json_option, load_catalogue, load_settings, tell
from app.edge.cli.records.sending import (
    close_option,
    close_windows,
    echo_empty,
    echo_summary,
    empty_topics,
    log_ends,
    send,
    speed_option,
    summary,
)

if TYPE_CHECKING:
    import polars as pl

    from app.rides.tlc.read import TlcFile

SUFFIXES = (".parquet", ".csv", ".csv.gz")
SHOWN_UNREADABLE = 10
TEXT_SHOWN = 80


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--order",
    type=click.Choice(["reported", "pickup", "file"]),
    default="reported",
    show_default=True,
    help="By drop-off as rides are reported, by pick-up, or as the file has them.",
)
@speed_option
@close_option
@bootstrap_option
@json_option
def command(
    paths: tuple[Path, ...],
    order: str,
    speed: float | None,
    close: bool,
    bootstrap_server: str | None,
    as_json: bool,
) -> None:
    """Write the rides of TLC trip files (CSV, CSV.gz, Parquet; every published generation).

    A directory stands for the trip files in it and below. A row that cannot be read is counted and shown, and does
    not stop the run. Rides wait for their turn in FLAGFALL_DATA_DIR, with 100 to 200 bytes each.

    \b
    flagfall replay yellow_tripdata_2019-01.parquet --close
    flagfall replay trips/ --speed 600x --order reported
    """
    from app.edge.local.lifetime import unwind_on_term

    unwind_on_term()
    settings = load_settings(bootstrap_server)
    group = load_catalogue(settings).group("rides")
    with waiting_rides(settings.data_dir) as folder:
        files = read_files(trip_files(paths), folder)
        unreadable = _unreadable(files)
        rows = sum(file.rows for file in files)
        written, seconds = send(settings, replayed(files, folder, order), rows - len(unreadable), speed, quiet=as_json)
    if written.total + len(unreadable) != rows:
        raise click.ClickException(
            f"the counts do not add up: {rows:,} rows read, {written.total:,} sent, {len(unreadable):,} unreadable"
        )
    latest_ms = written.latest_clock_ms
    watermark_us = close_windows(settings, group, latest_ms) if close and latest_ms is not None else None
    more = {"files": len(files), "rows": rows, "unreadable": len(unreadable)}
    empty = empty_topics(log_ends(settings, group)) if watermark_us is None and latest_ms is not None else {}
    facts = summary(written, seconds, watermark_us, empty_partitions_by_topic=empty, **more)
    if as_json:
        return echo_json(facts | {"unreadable_rows": unreadable, "ignored_columns": ignored_columns(files)})
    _echo_unreadable(unreadable)
    echo_ignored(ignored_columns(files))
    click.echo(f"{rows:>12,}  rows in {len(files)} files, {len(unreadable):,} of them unreadable")
    echo_summary(facts)
    if latest_ms is not None:
        echo_empty(empty, latest_ms)


def trip_files(paths: Sequence[Path]) -> list[Path]:
    """The files that are meant: those named, and in directories whatever looks like trips, sorted."""
    found = [file for path in paths for file in (_in_directory(path) if path.is_dir() else [path])]
    if not found:
        raise click.UsageError(f"no *tripdata* file ({', '.join(SUFFIXES)}) in {', '.join(map(str, paths))}")
    return found


def waiting_rides(data_dir: Path) -> AbstractContextManager[Path]:
    """A directory where rides wait on disk for their turn; removed at the end."""
    from app.base.files.working_directory import working_directory

    return working_directory(data_dir / "replay")


def read_files(paths: Sequence[Path], folder: Path) -> list[TlcFile]:
    """Every file as rides, which wait below the folder. Raises TlcFileError for one that holds no trips, NoRoom."""
    from app.rides.tlc.read import read_file

    return [read_file(path, folder) for path in paths]


def _in_directory(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*tripdata*") if p.is_file() and p.name.endswith(SUFFIXES))


def replayed(files: Sequence[TlcFile], folder: Path, order: str) -> Iterator[pl.DataFrame]:
    """The files' rides in sending order, frame by frame."""
    from app.rides.tlc.order import replay_order

    return replay_order(files, folder, order)  # type: ignore[arg-type]


def _unreadable(files: Sequence[TlcFile]) -> list[dict[str, Any]]:
    return [row for file in files for row in file.unreadable.iter_rows(named=True)]


def ignored_columns(files: Sequence[TlcFile]) -> dict[str, list[str]]:
    """Columns that no generation known here has, to the files that have them: their values are not kept."""
    names = sorted({name for file in files for name in file.ignored_columns})
    return {name: [file.path.name for file in files if name in file.ignored_columns] for name in names}


def echo_ignored(columns: Mapping[str, Sequence[str]]) -> None:
    for name, files in columns.items():
        more = f" and {len(files) - 1} more" if files[1:] else ""
        told = f"{files[0]}{more}: column {name} is of no generation that this version knows; its values are not kept"
        tell(printable(told))


def _echo_unreadable(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows[:SHOWN_UNREADABLE]:
        text = f"{row['reason']}: {row['text'][:TEXT_SHOWN]}"
        tell(printable(f"{row['file']}, row {row['row']}: {text}"))
    if len(rows) > SHOWN_UNREADABLE:
        tell(f"... and {len(rows) - SHOWN_UNREADABLE:,} more unreadable rows (--json has all)")
