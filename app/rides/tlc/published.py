"""A file as published: its rows, unconverted, with their numbers, and the lines that are not rows.

A row's number is its place among the data rows of the file, 1 for the first; header and blank lines do
not count. CSV is read with pyarrow, the one reader here that hands over each malformed line with its
number and carries on. Quotes are left to the conversion: no TLC field holds a comma or a line break, and
so one line is one row, whatever a stray quote does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, Literal, cast

import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from polars.exceptions import PolarsError

from app.rides.tlc.errors import TlcFileError

ROW = "row"
UNREADABLE_SCHEMA = pl.Schema({"file": pl.String, "row": pl.Int64, "reason": pl.String, "text": pl.String})
BLOCK_BYTES = 8 << 20
"""Of a CSV file, which are read together: some 80,000 rows."""
PART_ROWS = 50_000
"""Of a Parquet file."""
BUFFER_BYTES = 1 << 20
"""Read at once of each column of a Parquet file; else a row group, which may be the whole file, is held."""


@dataclass(frozen=True)
class PublishedFile:
    """`names`: of the published columns, in order. `parts`, to be read once: the rows, a part at a time, in columns
    named by position (`0`, `1`, ...), and `row`.

    `malformed` (row, reason, text): lines that do not have one field per column, complete once all parts are read.
    """

    names: tuple[str, ...]
    parts: Iterator[pl.DataFrame]
    malformed: Sequence[tuple[int, str, str]]


def read_published(path: Path) -> PublishedFile:
    """Read a `.parquet`, `.csv` or `.csv.gz` file; raises TlcFileError, also while its parts are read, if it is none
    or is damaged.
    """
    if not path.is_file():
        raise TlcFileError(path, "no such file")
    reader = {".parquet": _read_parquet, ".csv": _read_csv, ".gz": _read_csv}.get(path.suffix)
    if reader is None:
        raise TlcFileError(path, "not a .parquet, .csv or .csv.gz file")
    with _damage_told(path):
        file = reader(path)
    return replace(file, parts=_told(path, file.parts))


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except (PolarsError, pa.ArrowException, OSError, EOFError) as error:
        raise TlcFileError(path, f"damaged or not what its name says ({error}); fetch the file again") from error


def _told(path: Path, parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    while True:
        with _damage_told(path):
            part = next(parts, None)
        if part is None:
            return
        yield part


def _read_parquet(path: Path) -> PublishedFile:
    file = pq.ParquetFile(path, buffer_size=BUFFER_BYTES)
    names = tuple(file.schema_arrow.names)

    def parts() -> Iterator[pl.DataFrame]:
        read = 0
        groups = range(file.num_row_groups)
        # One group after the other: a reader of several keeps what it has read of each.
        for batch in chain.from_iterable(file.iter_batches(PART_ROWS, row_groups=[group]) for group in groups):
            frame = pl.DataFrame(pl.from_arrow(batch.rename_columns(_positions(len(names)))))
            yield frame.with_columns(_numbers(read + 1, read + frame.height).alias(ROW))
            read += frame.height

    return PublishedFile(names, parts(), ())


def _read_csv(path: Path) -> PublishedFile:
    names = _header(path)
    malformed: list[tuple[int, str, str]] = []

    def note(line: pa_csv.InvalidRow) -> Literal["skip"]:
        reason = f"{line.actual_columns} fields where the header has {line.expected_columns}"
        malformed.append((cast(int, line.number) - 1, reason, line.text))
        return "skip"

    def parts() -> Iterator[pl.DataFrame]:
        first = 1
        with pa.input_stream(str(path), compression="detect") as stream:
            for batch in _csv_batches(stream, _positions(len(names)), note):
                frame = pl.DataFrame(pl.from_arrow(batch))
                if frame.height:
                    numbers = _free_numbers(first, frame.height, malformed)
                    yield frame.with_columns(numbers.alias(ROW))
                    first = numbers[-1] + 1

    return PublishedFile(names, parts(), malformed)


def _csv_batches(stream: Any, positions: list[str], note: Callable[[pa_csv.InvalidRow], Any]) -> Any:
    return pa_csv.open_csv(
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
    )


def _header(path: Path) -> tuple[str, ...]:
    with pa.input_stream(str(path), compression="detect") as stream:
        line, _, below = bytes(stream.read(64 << 10)).partition(b"\n")
    if not line.strip():
        raise TlcFileError(path, "the first line, which should name the columns, is empty")
    if not below.strip():
        raise TlcFileError(path, "no rows below the header")
    return tuple(line.decode("utf-8-sig", errors="replace").rstrip("\r").split(","))


def _free_numbers(first: int, count: int, malformed: Sequence[tuple[int, str, str]]) -> pl.Series:
    """So many row numbers from `first` on that malformed lines leave free; the reader may have met later ones too."""
    taken = [row for row, _, _ in malformed[bisect_left(malformed, first, key=itemgetter(0)) :]]
    numbers = _numbers(first, first + count + len(taken) - 1)
    return numbers.filter(~numbers.is_in(taken)).head(count)


def _numbers(first: int, last: int) -> pl.Series:
    return pl.int_range(first, last + 1, dtype=pl.Int64, eager=True)


def _positions(count: int) -> list[str]:
    return [str(position) for position in range(count)]


def unreadable(path: Path, rows: Iterable[tuple[int, str, str]]) -> pl.DataFrame:
    """A frame (file, row, reason, text) of unreadable rows."""
    return pl.DataFrame([(str(path), *row) for row in rows], schema=UNREADABLE_SCHEMA, orient="row")
