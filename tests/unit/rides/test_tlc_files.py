"""Files with faults: what is unreadable is named and counted, what is not TLC's is refused in words."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from app.edge.cli.records.replay import echo_ignored, ignored_columns
from app.rides.tlc.errors import TlcFileError
from app.rides.tlc.read import TlcFile, read_file

HEADER = "VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,trip_distance,fare_amount,payment_type"
GOOD = "1,2019-03-05 08:15:30,2019-03-05 08:41:00,1,17.2,52.0,1"


def read(folder: Path, *lines: str, name: str = "yellow_tripdata_2019-03.csv", end: str = "\n") -> TlcFile:
    path = folder / name
    path.write_bytes(end.join([HEADER, *lines]).encode("latin-1"))
    return read_file(path, path.parent)


def reasons(file: TlcFile) -> dict[int, str]:
    return dict(file.unreadable.select("row", "reason").iter_rows())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,2019-03-05 08:15:30,2019-03-05", "3 fields where the header has 7"),
        (GOOD + ",9", "8 fields where the header has 7"),
        (GOOD.replace("52.0", "5x.0"), "fare_amount is not a number: 5x.0"),
        (GOOD.replace("52.0", "nan"), "fare_amount is not a number: nan"),
        (GOOD.replace("52.0", "1e300"), "fare_amount is not a number: 1e300"),
        (GOOD.replace(",1,17", ",1.5,17"), "passenger_count is not a whole number: 1.5"),
        (GOOD.replace("03-05 08:15", "02-30 08:15"), None),
        (GOOD.replace("2019-03-05 08:15:30", ""), "tpep_pickup_datetime is missing"),
        (GOOD[:-1] + "Barter", "payment_type is not a payment type: Barter"),
        ("\xff\xfe" * 9, "1 fields where the header has 7"),
    ],
)
def test_an_unreadable_row_is_named_with_its_reason_and_the_others_are_read(
    tmp_path: Path, line: str, reason: str | None
) -> None:
    file = read(tmp_path, GOOD, line, GOOD)
    assert file.rides["row"].to_list() == [1, 3]
    assert file.unreadable["row"].to_list() == [2]
    assert file.unreadable["text"].to_list() == [line]
    assert file.unreadable["file"].to_list() == [str(file.path)]
    if reason:
        assert file.unreadable["reason"].to_list() == [reason]


def test_a_row_with_two_faults_names_both(tmp_path: Path) -> None:
    file = read(tmp_path, GOOD.replace("52.0", "x").replace("17.2", "y"), GOOD)
    assert reasons(file) == {1: "trip_distance is not a number: y; fare_amount is not a number: x"}


def test_a_stray_quote_spoils_nothing_but_its_own_field(tmp_path: Path) -> None:
    file = read(tmp_path, GOOD, GOOD.replace("1,2019", '"1,2019', 1), GOOD)
    assert file.rides["vendor"].to_list() == ["1", "1", "1"]


def test_blank_lines_are_not_rows(tmp_path: Path) -> None:
    file = read(tmp_path, "", GOOD, "", "broken", GOOD, "", end="\r\n")
    assert (file.rows, file.rides["row"].to_list(), list(reasons(file))) == (3, [1, 3], [2])


def test_row_numbers_hold_over_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.rides.tlc.published.BLOCK_BYTES", 256)
    lines = ["broken" if row % 7 == 0 else GOOD for row in range(1, 501)]
    file = read(tmp_path, *lines)
    assert list(reasons(file)) == list(range(7, 501, 7))
    assert file.rides["row"].to_list() == [row for row in range(1, 501) if row % 7]


def test_rows_that_are_alike_get_different_ids(tmp_path: Path) -> None:
    ids = read(tmp_path, GOOD, GOOD, GOOD).rides["ride_id"]
    assert ids.n_unique() == 3
    assert ids.str.contains("^[0-9a-f]{32}$").all()
    assert read(tmp_path, GOOD).rides["ride_id"][0] == ids[0]


def test_values_out_of_bounds_are_kept_as_published(tmp_path: Path) -> None:
    file = read(tmp_path, GOOD.replace(",1,17.2,52.0", ",999,800000.55,429490.0"))
    row = file.rides.row(0, named=True)
    assert (row["passenger_count"], row["distance_hundredth_miles"], row["fare_cents"]) == (
        999,
        80000055,
        42949000,
    )


@pytest.mark.parametrize(
    ("published", "cents"),
    [
        (".125", 12),
        (".135", 14),
        ("1.005", 100),
        ("1.015", 102),
        ("-.125", -12),
        ("-0.375", -38),
        ("8.725001", 873),
    ],
)
def test_money_is_rounded_half_to_even_alike_in_csv_and_parquet(tmp_path: Path, published: str, cents: int) -> None:
    csv = read(tmp_path, GOOD.replace("52.0", published))
    path = tmp_path / "yellow_tripdata_2019-03.parquet"
    pl.read_csv(csv.path, try_parse_dates=True).write_parquet(path)
    assert csv.rides["fare_cents"].to_list() == read_file(path, path.parent).rides["fare_cents"].to_list() == [cents]


def test_an_unreadable_row_of_a_parquet_file_is_named_too(tmp_path: Path) -> None:
    path = tmp_path / "yellow_tripdata_2019-03.parquet"
    csv = read(tmp_path, GOOD, GOOD, GOOD).path
    frame = pl.read_csv(csv, try_parse_dates=True)
    late = pl.when(pl.int_range(pl.len()) != 1).then("tpep_pickup_datetime").alias("tpep_pickup_datetime")
    frame.with_columns(late, fare_amount=pl.Series([1.0, 2.0, float("inf")])).write_parquet(path)
    assert reasons(read_file(path, path.parent)) == {
        2: "tpep_pickup_datetime is missing",
        3: "fare_amount is not a number: inf",
    }


def test_a_column_that_nobody_knows_is_named_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / f"yellow_tripdata_2031-0{month}.csv" for month in (3, 4)]
    for path in paths:
        path.write_text(f"{HEADER},Moon_fee\n{GOOD},3\n")
    files = [read_file(path, tmp_path) for path in paths]
    assert files[0].ignored_columns == ("Moon_fee",)
    assert ignored_columns(files) == {"Moon_fee": [path.name for path in paths]}
    echo_ignored(ignored_columns(files))
    assert "yellow_tripdata_2031-03.csv and 1 more: column Moon_fee is of no generation" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "taxi_zone_lookup.csv",
            b'"LocationID","Borough","Zone"\n1,"EWR","N"\n',
            'not understood: "Borough", "Zone"',
        ),
        ("yellow.csv", b"", "the first line, which should name the columns, is empty"),
        ("yellow.csv", HEADER.encode(), "no rows below the header"),
        ("yellow.csv", HEADER.encode() + b"\r\n\r\n", "no rows below the header"),
        ("yellow.csv", f"{HEADER}\nx\n".encode(), "no row can be read"),
        ("yellow.txt", b"", "not a .parquet, .csv or .csv.gz file"),
        ("yellow.parquet", b"PAR1", "fetch the file again"),
        ("yellow.csv.gz", gzip.compress(f"{HEADER}\n{GOOD}\n".encode() * 999, mtime=0)[:90], "fetch the file again"),
        (
            "yellow.csv",
            b"tpep_pickup_datetime,lpep_dropoff_datetime\n1,1\n",
            "columns of green and yellow stand together",
        ),
        (
            "trips.csv",
            b"vendor_id,pickup_datetime,fare_amount\n1,1,1\n",
            "its columns fit green or yellow; let the file's name",
        ),
        ("fhv.csv", b"vendor_id,pickup_datetime,fare_amount\n1,1,1\n", "its columns fit green or yellow"),
        ("yellow.csv", b"tpep_pickup_datetime,pickup_datetime\n1,1\n", "both mean pickup_at_us; remove one"),
    ],
)
def test_a_file_that_is_not_tlcs_is_refused_by_name(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TlcFileError) as refusal:
        read_file(path, path.parent)
    assert str(path) in str(refusal.value)
    assert words in str(refusal.value)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(TlcFileError, match="no such file"):
        read_file(tmp_path / "yellow_tripdata_2019-03.parquet", tmp_path)


def test_the_period_is_the_months_of_the_trips_where_the_name_says_none(tmp_path: Path) -> None:
    named, unnamed = read(tmp_path, GOOD).period, read(tmp_path, GOOD, name="yellow.csv").period
    misnamed = read(tmp_path, GOOD, name="yellow_tripdata_2018-11.csv").period
    assert named == unnamed == misnamed
    assert (named.start_us, named.end_us) == (1551416400000000, 1554091200000000)
