"""The sending order of files and its clock, on files of a few rides."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import polars as pl
import pytest

from app.rides.frames import ride_columns
from app.rides.ride import DAY_US
from app.rides.ride_id import REPEATS, with_lanes
from app.rides.tlc.identity import Period
from app.rides.tlc.order import By, replay_order
from app.rides.tlc.published import UNREADABLE_SCHEMA
from app.rides.tlc.read import TlcFile
from app.rides.tlc.spill import Spill

START_US = 1_551_416_400_000_000
MINUTE_US = 60_000_000
MARCH = Period(START_US, START_US + 31 * DAY_US)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rides wait."""
    monkeypatch.chdir(tmp_path)


def file_of(*minutes: tuple[int, int | None], service: str = "yellow") -> TlcFile:
    """A file whose rides are picked up and dropped off at these minutes of the month."""
    at = [(START_US + p * MINUTE_US, None if d is None else START_US + d * MINUTE_US) for p, d in minutes]
    times = pl.DataFrame(at, schema={"pickup_at_us": pl.Int64, "dropoff_at_us": pl.Int64}, orient="row")
    rides = ride_columns(times).with_columns(pl.int_range(1, len(minutes) + 1, dtype=pl.Int64).alias("row"))
    stored = Spill(Path(f"{service}-{uuid4().hex}.arrow"))
    stored.add(with_lanes(rides, service))
    stored.close()
    repeats, unreadable = pl.DataFrame(schema=REPEATS), pl.DataFrame(schema=UNREADABLE_SCHEMA)
    return TlcFile(Path(f"{service}.csv"), service, MARCH, stored, rides.height, repeats, unreadable, ())


def sent(files: list[TlcFile], by: By = "reported") -> list[tuple[str, int, int]]:
    """(service, row, clock in minutes of the month), in sending order."""
    minutes = ((pl.col("clock_ms") - START_US // 1_000) // 60_000).alias("clock")
    return pl.concat(replay_order(files, Path(), by)).select("service", "row", minutes).rows()


def rows(files: list[TlcFile], by: By = "reported") -> list[int]:
    return [row for _, row, _ in sent(files, by)]


def test_rides_are_sent_as_they_are_reported_and_the_clock_is_that_time() -> None:
    assert sent([file_of((0, 30), (5, 10), (2, 20))]) == [
        ("yellow", 2, 10),
        ("yellow", 3, 20),
        ("yellow", 1, 30),
    ]


def test_a_ride_without_dropoff_is_reported_at_its_pickup() -> None:
    assert rows([file_of((0, 30), (15, None), (2, 20))]) == [2, 3, 1]


def test_by_pickup_the_clock_is_the_latest_report_so_far() -> None:
    file = file_of((5, 10), (0, 30), (2, 20))
    assert sent([file], "pickup") == [("yellow", 2, 30), ("yellow", 3, 30), ("yellow", 1, 30)]


def test_by_file_rides_stay_in_file_order() -> None:
    assert sent([file_of((5, 10), (0, 30), (2, 20))], "file") == [
        ("yellow", 1, 10),
        ("yellow", 2, 30),
        ("yellow", 3, 30),
    ]


def test_rides_reported_at_one_time_stay_in_file_order() -> None:
    assert rows([file_of((3, 9), (1, 9), (2, 9))]) == [1, 2, 3]


@pytest.mark.parametrize("by", ["reported", "file"])
def test_a_ride_of_a_stray_year_does_not_move_the_clock(by: By) -> None:
    year_2098 = 79 * 366 * 24 * 60
    file = file_of((0, 10), (year_2098, year_2098 + 5), (2, 20))
    clocks = {row: clock for _, row, clock in sent([file], by)}
    assert clocks == {1: 10, 2: 20 if by == "reported" else 10, 3: 20}


def test_a_ride_before_the_month_is_sent_first_with_the_earliest_time_of_the_clock() -> None:
    assert sent([file_of((0, 10), (-500_000, -499_990))]) == [("yellow", 2, -24 * 60), ("yellow", 1, 10)]


def test_a_ride_a_little_outside_the_month_moves_the_clock_like_any_other() -> None:
    end = 31 * 24 * 60
    assert sent([file_of((end - 5, end + 60), (-60, -30))]) == [("yellow", 2, -30), ("yellow", 1, end + 60)]


@pytest.mark.parametrize("by", ["reported", "pickup", "file"])
def test_several_files_are_merged_so_that_time_runs_forward(by: By) -> None:
    yellow, green = file_of((0, 10), (12, 30)), file_of((5, 20), (25, 40), service="green")
    assert [service for service, _, _ in sent([yellow, green], by)] == ["yellow", "green", "yellow", "green"]


def test_no_files_are_refused() -> None:
    with pytest.raises(ValueError, match="no files"):
        list(replay_order([], Path()))
