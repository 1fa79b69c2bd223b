"""The real files: every row is accounted for, and rows drawn from each agree with a naive reading of them."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow.parquet as pq
import pytest

from app.rides.tlc.columns import Conversion, understand
from app.rides.tlc.convert import PAYMENT_CODES, VENDOR_CODES
from app.rides.tlc.order import replay_order
from app.rides.tlc.read import TlcFile, read_file

NEW_YORK = ZoneInfo("America/New_York")
DRAWN = 150


@pytest.fixture(scope="module", autouse=True)
def forget_files() -> Iterator[None]:
    """All real files together are too much to keep for the rest of the run."""
    yield
    if read.cache_info().currsize:
        shutil.rmtree(folder())
    read.cache_clear()
    folder.cache_clear()


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="flagfall-tlc-"))


@cache
def read(path: Path) -> TlcFile:
    return read_file(path, folder())


def trip_files(real_data: Path) -> dict[str, int]:
    """File to its number of rows, as counted when the files were collected."""
    with (real_data / "MANIFEST.csv").open() as lines:
        return {row["file"]: int(row["rows"]) for row in csv.DictReader(lines) if "tripdata" in row["file"]}


def test_every_row_of_every_file_is_read_or_named_as_unreadable(real_data: Path) -> None:
    expected = trip_files(real_data)
    counted = {name: read(real_data / name).rows for name in expected}
    assert counted == expected
    assert {name.split("/")[0]: read(real_data / name).service for name in expected} == {
        "yellow": "yellow",
        "green": "green",
        "fhv": "fhv",
        "hvfhv": "hvfhv",
    }


def test_the_one_unreadable_row_is_the_line_that_was_cut_off(real_data: Path) -> None:
    unreadable = pl.concat([read(real_data / name).unreadable for name in trip_files(real_data)])
    assert unreadable.select("row", "reason").rows() == [(15242, "12 fields where the header has 19")]
    assert unreadable["file"][0].endswith("yellow_tripdata_2016-03_latlon_head.csv")


def test_no_column_of_a_real_file_is_unknown_and_no_two_rides_have_one_id(real_data: Path) -> None:
    files = [read(real_data / name) for name in trip_files(real_data)]
    assert {column for file in files for column in file.ignored_columns} == set()
    assert all(file.rides["ride_id"].n_unique() == file.rides.height for file in files)


def test_rows_drawn_from_every_file_agree_with_a_naive_reading(real_data: Path) -> None:
    for name in trip_files(real_data):
        file = read(real_data / name)
        step = file.rows // DRAWN
        rides = {ride["row"]: ride for ride in file.rides.gather_every(step).iter_rows(named=True)}
        for number, published in islice(naive_rows(real_data / name), 0, None, step):
            if number in rides:
                expected = naive_ride(published)
                assert {target: rides[number][target] for target in expected} == expected, (name, number)


def test_all_real_files_are_merged_into_one_clock_that_never_falls(real_data: Path) -> None:
    files = [read(real_data / name) for name in trip_files(real_data)]
    sent = pl.concat(frame.select("clock_ms") for frame in replay_order(files, folder()))
    assert sent.height == sum(file.rides.height for file in files)
    assert sent["clock_ms"].is_sorted()


@pytest.mark.parametrize(
    ("name", "row", "expected"),
    [
        (
            "yellow/yellow_tripdata_2009-01_sample3000.csv",
            1,
            {
                "vendor": "2",
                "pickup_zone": None,
                "payment_type": 1,
                "distance_hundredth_miles": 114,
                "total_cents": 680,
            },
        ),
        (
            "yellow/yellow_tripdata_2010-01_sample3000.csv",
            2,
            {
                "vendor": "2",
                "payment_type": 2,
                "distance_hundredth_miles": 73,
                "fare_cents": 450,
                "rate_code": 1,
            },
        ),
        (
            "hvfhv/fhvhv_tripdata_2020-04_sample1000.csv",
            1,
            {
                "vendor": "HV0003",
                "on_scene_at_us": 1587730834000000,
                "driver_pay_cents": 1393,
                "shared": False,
            },
        ),
        (
            "fhv/fhv_tripdata_2020-04_sample1000.csv",
            1,
            {"vendor": "B01259", "pickup_zone": 264, "dropoff_zone": 157, "dropoff_at_us": 1587731219000000},
        ),
        (
            "green/green_tripdata_2020-10.csv.gz",
            1,
            {
                "pickup_at_us": 1601526679000000,
                "distance_hundredth_miles": 79,
                "tip_cents": 158,
                "trip_type": 1,
            },
        ),
    ],
)
def test_values_are_what_the_file_says(real_data: Path, name: str, row: int, expected: Mapping[str, object]) -> None:
    ride = read(real_data / name).rides.row(by_predicate=pl.col("row") == row, named=True)
    assert {column: ride[column] for column in expected} == expected


def naive_rows(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    if path.suffix == ".parquet":
        yield from enumerate(pq.read_table(path).to_pylist(), start=1)
        return
    stored = path.read_bytes()
    text = gzip.decompress(stored) if path.suffix == ".gz" else stored
    yield from enumerate(csv.DictReader(text.decode().splitlines()), start=1)


def naive_ride(published: Mapping[str, object]) -> dict[str, object]:
    """What the published row is as a ride, a value at a time, with Python's own decimals and time zones."""
    ride = {}
    for name, value in published.items():
        column = understand(name)
        if column and column.target:
            blank = value is None or not str(value).strip()
            ride[column.target] = None if blank else naive_value(value, column.conversion)
    return ride


def naive_value(value: object, conversion: Conversion) -> object:
    text = str(value).strip()
    if conversion is Conversion.TIME:
        return int(dt.datetime.fromisoformat(text).replace(tzinfo=NEW_YORK).timestamp()) * 1_000_000
    if conversion is Conversion.HUNDREDTHS:
        decimal = Decimal(text).quantize(Decimal("0.000001"))
        return int((decimal * 100).to_integral_value(ROUND_HALF_EVEN))
    if conversion is Conversion.FLAG:
        return text in ("Y", "1", "1.0")
    if conversion is Conversion.PAYMENT and text.upper() in PAYMENT_CODES:
        return PAYMENT_CODES[text.upper()]
    if conversion in (Conversion.WHOLE, Conversion.PAYMENT):
        return int(float(text))
    if conversion is Conversion.VENDOR:
        return VENDOR_CODES.get(text, text.removesuffix(".0"))
    return text
