"""A replay reads, sorts and merges in parts what a naive one holds in memory: the same rides, ids, order and clocks."""

from __future__ import annotations

import csv
import gzip
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.rides.frames import reported_at_us
from app.rides.ride import DAY_US
from app.rides.ride_id import hash_text, mix64
from app.rides.tlc import order, published
from app.rides.tlc.errors import NoRoom
from app.rides.tlc.order import By, replay_order
from app.rides.tlc.read import TlcFile, read_file
from app.rides.tlc.spill import Spill

ROWS = 150
MARCH = datetime(2019, 3, 1)
YELLOW = ("VendorID", "tpep_pickup_datetime", "tpep_dropoff_datetime", "trip_distance", "PULocationID", "fare_amount")
GREEN = ("VendorID", "lpep_pickup_datetime", "lpep_dropoff_datetime", "trip_distance", "PULocationID", "fare_amount")
FHV = ("dispatching_base_num", "pickup_datetime", "PULocationID")


def lines(rng: random.Random, names: tuple[str, ...]) -> list[list[str]]:
    """Rows with the dirt of real ones: many of one minute, identical, of stray years, unreadable, malformed."""
    made: list[list[str]] = []
    for _ in range(ROWS):
        made.append(list(rng.choice(made)) if made and rng.random() < 0.15 else line(rng, names))
    return made


def line(rng: random.Random, names: tuple[str, ...]) -> list[str]:
    year = rng.choice((2008, 2098)) if rng.random() < 0.05 else 2019
    pickup = MARCH.replace(year=year) + timedelta(minutes=10 * rng.randrange(-200, 4800))
    dropoff = pickup + timedelta(minutes=10 * rng.randrange(6))
    fare = rng.choice(("", "x", "-3.5")) if rng.random() < 0.1 else str(rng.randrange(4))
    if names == FHV:
        return ["B1", str(pickup), rng.choice(("", "7"))] + ["surplus"] * (rng.random() < 0.05)
    lacks = rng.random()
    cells = ["1", "" if lacks < 0.03 else str(pickup), "" if 0.03 < lacks < 0.2 else str(dropoff), "1.5", "132", fare]
    return cells[:-1] if rng.random() < 0.05 else cells


def write(folder: Path, seed: int) -> list[Path]:
    """Two services in CSV, a third in Parquet, and a first file once more: its rides have the clocks of the others."""
    rng = random.Random(seed)
    yellow, green = folder / "yellow_tripdata_2019-03.csv", folder / "green_tripdata_2019-03.csv.gz"
    fhv, again = folder / "fhv_tripdata_2019-03.parquet", folder / "again_yellow_2019-03.csv"
    for path, names in ((yellow, YELLOW), (green, GREEN)):
        text = "\n".join(",".join(cells) for cells in [list(names), *lines(rng, names)])
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    again.write_bytes(yellow.read_bytes())
    rows = [cells for cells in lines(rng, FHV) if len(cells) == len(FHV)]
    typed = [(base, datetime.fromisoformat(at), int(zone) if zone else None) for base, at, zone in rows]
    pl.DataFrame(typed, schema=list(FHV), orient="row").write_parquet(fhv)
    return [yellow, fhv, green, again]


@pytest.fixture(params=[1, 2])
def paths(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    return write(tmp_path, request.param)


@pytest.fixture
def in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "BLOCK_BYTES", 700)
    monkeypatch.setattr(published, "PART_ROWS", 7)
    monkeypatch.setattr(order, "HELD_RIDES", 40)
    monkeypatch.setattr(order, "SAMPLED_OF", 1)


def naive_ids(rides: pl.DataFrame, service: str) -> list[str]:
    """Of a file's rides in file order, one by one."""
    seen: Counter[tuple[int, int]] = Counter()
    return [naive_id(ride, service, seen) for ride in rides.drop("ride_id", "row").iter_rows(named=True)]


def naive_id(ride: dict[str, Any], service: str, seen: Counter[tuple[int, int]]) -> str:
    high, low = (naive_lane(ride, service, lane) for lane in ("high", "low"))
    nth = seen[high, low]
    seen[high, low] += 1
    return f"{mixed(high + nth):016x}{mixed(low - nth):016x}"


def naive_lane(ride: dict[str, Any], service: str, lane: str) -> int:
    total = hash_text(f"{lane}:service:{service}")
    for name, value in ride.items():
        if value is not None:
            word = hash_text(value) if isinstance(value, str) else int(value)
            total += mixed(word ^ hash_text(f"{lane}:{name}"))
    return total % 2**64


def mixed(word: int) -> int:
    return int(mix64(np.array([word % 2**64], np.uint64))[0])


def naive_order(files: list[TlcFile], by: By) -> pl.DataFrame:
    """All files in memory: each sorted and given its clock as a whole, then all sorted by it."""
    ordered = []
    for file in files:
        low_us, high_us = file.period.start_us - DAY_US, file.period.end_us + DAY_US
        reported = reported_at_us()
        in_period = pl.when(reported.is_between(low_us, high_us, closed="left")).then(reported)
        rides = file.rides
        if by != "file":
            time = reported if by == "reported" else pl.col("pickup_at_us")
            rides = rides.sort(time.clip(low_us, high_us), maintain_order=True)
        clock = in_period.cum_max().forward_fill().fill_null(low_us).alias("clock_us")
        origin = (pl.lit(file.service).alias("service"), pl.lit(str(file.path)).alias("file"))
        ordered.append(rides.with_columns(*origin, clock))
    merged = pl.concat(ordered).sort("clock_us", maintain_order=True)
    return merged.with_columns((pl.col("clock_us") // 1_000).alias("clock_ms")).drop("clock_us")


def test_a_file_read_in_parts_has_the_rides_ids_and_unreadable_rows_of_one_read_at_once(
    paths: list[Path], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    whole = [read_file(path, tmp_path) for path in paths]
    request.getfixturevalue("in_small_parts")
    for file in whole:
        parts = read_file(file.path, tmp_path)
        assert sum(1 for _ in parts.stored.frames()) > 5 >= sum(1 for _ in file.stored.frames())
        assert parts.rides.equals(file.rides)
        assert parts.unreadable.equals(file.unreadable)
        assert (parts.period, parts.service, parts.rows) == (file.period, file.service, file.rows)
        assert parts.rides["ride_id"].to_list() == naive_ids(file.rides, file.service)
        assert parts.repeats.height > 0
    assert sum(file.unreadable.height for file in whole) > 20


def test_row_numbers_are_those_of_the_lines_whatever_blocks_they_are_read_in(
    paths: list[Path], tmp_path: Path, in_small_parts: None
) -> None:
    with paths[0].open(newline="") as text:
        expected = list(csv.DictReader(text))
    rides = read_file(paths[0], tmp_path).rides
    fares = [expected[row - 1]["fare_amount"] for row in rides["row"]]
    assert [None if cents is None else cents / 100 for cents in rides["fare_cents"]] == [
        float(fare) if fare else None for fare in fares
    ]


@pytest.mark.parametrize("by", ["reported", "pickup", "file"])
@pytest.mark.parametrize("count", [1, 4])
def test_the_order_and_the_clock_are_those_of_a_naive_replay_that_holds_all_in_memory(
    paths: list[Path], tmp_path: Path, in_small_parts: None, by: By, count: int
) -> None:
    files = [read_file(path, tmp_path) for path in paths[:count]]
    frames = list(replay_order(files, tmp_path, by))
    assert len(frames) > 2
    assert pl.concat(frames).equals(naive_order(files, by))
    left = {path.name for path in tmp_path.glob("*.arrow")}
    assert len(left) == count, "what was sorted is removed as it is sent"


def test_a_full_disk_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/dev/full")
    spill = Spill(tmp_path / "full")
    frame = pl.DataFrame({"noise": np.random.default_rng(1).integers(0, 2**62, 100_000)})
    with pytest.raises(NoRoom, match=r"takes no more rides .*No space left.* set FLAGFALL_DATA_DIR"):
        list(add_for_ever(spill, frame))


def add_for_ever(spill: Spill, frame: pl.DataFrame) -> Iterator[None]:
    for _ in itertools.count():
        spill.add(frame)
        yield
