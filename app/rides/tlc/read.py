"""A TLC file, of any published generation, as rides.

    read_file(Path("yellow_tripdata_2019-01.csv"), folder).rides

Every row of the file is either in `rides` or, with a reason, in `unreadable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import polars as pl

from app.rides.frames import ride_columns
from app.rides.new_york import dropoff_to_utc_us, to_utc_us
from app.rides.ride_id import repeats_of, with_lanes, with_ride_id
from app.rides.tlc.columns import Conversion, Published, normal_name, understand
from app.rides.tlc.convert import cleaned, converted
from app.rides.tlc.errors import TlcFileError
from app.rides.tlc.identity import Period, not_understood, period_of, service_of
from app.rides.tlc.published import ROW, UNREADABLE_SCHEMA, read_published, unreadable
from app.rides.tlc.spill import Spill

_LATER_TIMES = ("requested_at_us", "on_scene_at_us")


@dataclass(frozen=True)
class TlcFile:
    """A file of trips, whose rides wait on disk.

    `stored`: parts of a ride frame with `row` (1 = first data row) and what their ids are made from, in file order;
    `repeats`: which rows are the second, third … of identical ones. `unreadable`: file, row, reason, text, in file
    order. `ignored_columns`: published columns that no generation known to this version has; their values are not kept.
    """

    path: Path
    service: str
    period: Period
    stored: Spill
    ride_count: int
    repeats: pl.DataFrame
    unreadable: pl.DataFrame
    ignored_columns: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Data rows in the file: read and unreadable together."""
        return self.ride_count + self.unreadable.height

    @property
    def rides(self) -> pl.DataFrame:
        """All of them, in file order, with their ids: for files that fit into memory."""
        return pl.concat(with_ride_id(part, self.repeats) for part in self.stored.frames())


@dataclass(frozen=True, slots=True)
class _Kept:
    """A published column that a ride keeps: its position in the file, its name there, and what it becomes."""

    position: str
    name: str
    target: str
    conversion: Conversion


def read_file(path: Path, folder: Path) -> TlcFile:
    """Read a Parquet, CSV or gzipped CSV file of trips part by part, and keep its rides in a file below `folder`.

    In memory are a part and two numbers a ride. Raises TlcFileError if as a whole it is no such file, NoRoom.
    """
    published = read_published(path)
    service = service_of(path, published.names)
    kept = _kept(path, published.names)
    stored = Spill(folder / f"{uuid4().hex}.arrow")
    unread, pickups = [], []
    for rows in published.parts:
        local = _converted(rows, kept)
        unread.append(_unreadable(path, published.names, rows, kept, local))
        readable = local.filter(~pl.col(ROW).is_in(unread[-1]["row"].implode()))
        rides = with_lanes(_rides(readable, service), service)
        pickups.append(rides["pickup_at_us"])
        stored.add(rides)
    stored.close()
    count, period = sum(map(len, pickups)), _period(path, pickups)
    pickups.clear()
    unreadable_rows = pl.concat([unreadable(path, published.malformed), *unread]).sort("row")
    ignored = not_understood(published.names)
    return TlcFile(path, service, period, stored, count, repeats_of(stored.frames), unreadable_rows, ignored)


def _period(path: Path, pickups: Sequence[pl.Series]) -> Period:
    return period_of(path, pl.concat(pickups) if pickups else pl.Series(dtype=pl.Int64))


def _kept(path: Path, names: Sequence[str]) -> list[_Kept]:
    known: list[tuple[int, str, Published | None]] = [(i, name, understand(name)) for i, name in enumerate(names)]
    kept = [
        _Kept(str(position), normal_name(name), column.target, column.conversion)
        for position, name, column in known
        if column is not None and column.target is not None
    ]
    for target in {column.target for column in kept}:
        rivals = [column.name for column in kept if column.target == target]
        if len(rivals) > 1:
            raise TlcFileError(path, f"columns {' and '.join(rivals)} both mean {target}; remove one")
    return kept


def _converted(rows: pl.DataFrame, kept: Sequence[_Kept]) -> pl.DataFrame:
    """The targets, `row`, and beside each target (as `position`) the cleaned value that it came from."""
    clean = cleaned(rows.select(ROW, *(column.position for column in kept)))
    targets = (
        converted(column.position, clean.schema[column.position], column.conversion).alias(column.target)
        for column in kept
    )
    return clean.with_columns(targets)


def _unreadable(
    path: Path, names: Sequence[str], rows: pl.DataFrame, kept: Sequence[_Kept], local: pl.DataFrame
) -> pl.DataFrame:
    reasons = pl.concat_str([_reason(column) for column in kept], separator="; ", ignore_nulls=True)
    failed = local.filter(pl.any_horizontal(_fails(column) for column in kept)).select(ROW, reasons.alias("reason"))
    fields = [pl.col(str(position)).cast(pl.String).fill_null("") for position in range(len(names))]
    text = rows.filter(pl.col(ROW).is_in(failed[ROW].implode())).select(
        ROW, pl.concat_str(fields, separator=",").alias("text")
    )
    return (
        failed.join(text, on=ROW)
        .select(pl.lit(str(path)).alias("file"), "row", "reason", "text")
        .cast(UNREADABLE_SCHEMA)
    )


def _fails(column: _Kept) -> pl.Expr:
    """Published, but not what it should be; or a pick-up time that is not there."""
    unread = pl.col(column.target).is_null()
    return unread if column.target == "pickup_at_us" else unread & pl.col(column.position).is_not_null()


def _reason(column: _Kept) -> pl.Expr:
    value = pl.col(column.position).cast(pl.String)
    wrong = pl.format(f"{column.name} is not {column.conversion}: {{}}", value)
    why = pl.when(value.is_null()).then(pl.lit(f"{column.name} is missing")).otherwise(wrong)
    return pl.when(_fails(column)).then(why)


def _rides(local: pl.DataFrame, service: str) -> pl.DataFrame:
    """A ride frame and `row`: times in UTC, an FHV ride's base also as its vendor; `ride_id` still null."""
    if service == "fhv":
        local = local.with_columns(vendor=pl.col("dispatching_base"))
    times = [to_utc_us(pl.col(name)).alias(name) for name in ("pickup_at_us", *_LATER_TIMES) if name in local.columns]
    utc = local.with_columns(times)
    if "dropoff_at_us" in local.columns:
        utc = utc.with_columns(dropoff_to_utc_us(pl.col("dropoff_at_us"), pl.col("pickup_at_us")))
    return ride_columns(utc).with_columns(utc[ROW])
