"""A file as published: its rows, unconverted, with their numbers, and the lines that are not rows.

A row's number is its place among the data rows of the file, 1 for the first; header and blank lines do
not count. CSV is read with pyarrow, the one reader here that hands over each malformed line with its
number and carries on. Quotes are left to the conversion: no TLC field holds a comma or a line break, and
so one line is one row, whatever a stray quote does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
from polars.exceptions import PolarsError

from app.rides.tlc.errors import TlcFileError

ROW = "row"
UNREADABLE_SCHEMA = pl.Schema({"file": pl.String, "row": pl.Int64, "reason": pl.String, "text": pl.String})
BLOCK_BYTES = 8 << 20


@dataclass(frozen=True)
class PublishedFile:
    """`rows`: the published columns in order, named by position (`0`, `1`, ...), and `row`; `names`: theirs.

    `malformed` (file, row, reason, text): lines that do not have one field per column.
    """

    names: tuple[str, ...]
    rows: pl.DataFrame
    malformed: pl.DataFrame


def read_published(path: Path) -> PublishedFile:
    """Read a `.parquet`, `.csv` or `.csv.gz` file; raises TlcFileError if it is none or is damaged."""
    if not path.is_file():
        raise TlcFileError(path, "no such file")
    try:
        if path.suffix == ".parquet":
            return _read_parquet(path)
        if path.suffix in (".csv", ".gz"):
            return _read_csv(path)
    except (PolarsError, pa.ArrowException, OSError, EOFError) as error:
        raise TlcFileError(path, f"damaged or not what its name says ({error}); fetch the file again") from error
    raise TlcFileError(path, "not a .parquet, .csv or .csv.gz file")


def _read_parquet(path: Path) -> PublishedFile:
    frame = pl.read_parquet(path, glob=False)
    names = tuple(frame.columns)
    frame.columns = _positions(len(names))
    rows = frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(ROW))
    return PublishedFile(names, rows, unreadable(path, ()))


def _read_csv(path: Path) -> PublishedFile:
    names = _header(path)
    malformed: list[tuple[int, str, str]] = []

    def note(line: pa_csv.InvalidRow) -> Literal["skip"]:
        reason = f"{line.actual_columns} fields where the header has {line.expected_columns}"
        malformed.append((cast(int, line.number) - 1, reason, line.text))
        return "skip"

    positions = _positions(len(names))
    with pa.input_stream(str(path), compression="detect") as stream:
        table = pa_csv.open_csv(
            cast(IO[Any], stream),
            # Any byte is a character of Latin-1: none stops the reading. Threads would cost the row numbers.
            read_options=pa_csv.ReadOptions(
                use_threads=False,
                block_size=BLOCK_BYTES,
                encoding="latin-1",
                column_names=positions,
                skip_rows=1,
            ),
            parse_options=pa_csv.ParseOptions(quote_char=False, invalid_row_handler=note),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(positions, pa.string()), strings_can_be_null=False
            ),
        ).read_all()
    frame = pl.DataFrame(pl.from_arrow(table))
    return PublishedFile(names, _numbered(frame, [row for row, _, _ in malformed]), unreadable(path, malformed))


def _header(path: Path) -> tuple[str, ...]:
    with pa.input_stream(str(path), compression="detect") as stream:
        line, _, below = bytes(stream.read(64 << 10)).partition(b"\n")
    if not line.strip():
        raise TlcFileError(path, "the first line, which should name the columns, is empty")
    if not below.strip():
        raise TlcFileError(path, "no rows below the header")
    return tuple(line.decode("utf-8-sig", errors="replace").rstrip("\r").split(","))


def _numbered(frame: pl.DataFrame, malformed_rows: list[int]) -> pl.DataFrame:
    """`frame` with the row numbers that the malformed lines leave free."""
    total = frame.height + len(malformed_rows)
    numbers = pl.int_range(1, total + 1, dtype=pl.Int64, eager=True).alias(ROW)
    return frame.with_columns(numbers.filter(~numbers.is_in(malformed_rows)))


def _positions(count: int) -> list[str]:
    return [str(position) for position in range(count)]


def unreadable(path: Path, rows: Iterable[tuple[int, str, str]]) -> pl.DataFrame:
    """A frame (file, row, reason, text) of unreadable rows."""
    return pl.DataFrame([(str(path), *row) for row in rows], schema=UNREADABLE_SCHEMA, orient="row")
