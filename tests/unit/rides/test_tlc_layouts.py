"""The same three invented trips in every published layout (tests/data/tlc) become the same rides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from app.rides.frames import RIDE_DTYPES
from app.rides.tlc.read import read_file

DATA = Path(__file__).parents[2] / "data" / "tlc"

Layout = dict[str, list[Any]]
"""Column of a ride to its values in the three trips; columns not named are null."""

TIMES: Layout = {
    "pickup_at_us": [1551791730000000, 1551848281000000, 1551849000000000],
    "dropoff_at_us": [1551793260000000, 1551848851000000, 1551849000000000],
}
ZONES: Layout = {"pickup_zone": [132, 161, 264], "dropoff_zone": [230, 162, 265]}
NO_ZONES: Layout = {"pickup_zone": [None] * 3, "dropoff_zone": [None] * 3}
TRIP: Layout = {
    **TIMES,
    "passenger_count": [1, 2, None],
    "distance_hundredth_miles": [1720, 73, 0],
    "rate_code": [2, 1, None],
    "payment_type": [1, 2, None],
    "stored_and_forwarded": [False, True, None],
    "fare_cents": [5200, 650, -250],
    "extra_cents": [0, 50, -50],
    "mta_tax_cents": [50, 50, -50],
    "tip_cents": [1166, 0, 0],
    "tolls_cents": [576, 0, 0],
    "total_cents": [7272, 1030, -380],
}
METERED: Layout = {**TRIP, "vendor": ["1", "2", "2"], "improvement_surcharge_cents": [30, 30, -30]}
OLD_YELLOW: Layout = {**TRIP, **NO_ZONES, "vendor": ["1", "2", "DDS"]}
CONGESTION: Layout = {"congestion_surcharge_cents": [250, 250, None]}
AIRPORT: Layout = {"airport_fee_cents": [125, 0, None]}
CBD: Layout = {"cbd_congestion_fee_cents": [75, 75, None]}
YN: Layout = {**METERED, **ZONES, **CONGESTION}
Y22: Layout = {**YN, **AIRPORT}
G20: Layout = {**YN, "trip_type": [1, 2, None]}
HVD: Layout = {
    **TIMES,
    **ZONES,
    **CONGESTION,
    **AIRPORT,
    "requested_at_us": [1551791100000000, 1551847800000000, 1551848460000000],
    "on_scene_at_us": [1551791640000000, None, 1551848999000000],
    "distance_hundredth_miles": [1720, 73, 0],
    "shared": [True, False, None],
    "fare_cents": [5200, 650, -250],
    "tip_cents": [1166, 0, 0],
    "tolls_cents": [576, 0, 0],
    "black_car_fund_cents": [143, 18, 0],
    "sales_tax_cents": [462, 58, 0],
    "driver_pay_cents": [4001, 500, 0],
}
BASES = ["B99001", "B99002", "B99003"]

LAYOUTS: dict[str, tuple[str, Layout]] = {
    "yellow_tripdata_2009-03_Y09.csv": ("yellow", OLD_YELLOW),
    "yellow_tripdata_2010-03_Y10.csv": ("yellow", OLD_YELLOW),
    "yellow_tripdata_2016-03_Y16.csv": ("yellow", {**METERED, **NO_ZONES}),
    "yellow_tripdata_2019-03_YN.csv": ("yellow", YN),
    "yellow_tripdata_2012-03_Y22.csv": ("yellow", Y22),
    "yellow_tripdata_2019-03_Y22.parquet": ("yellow", Y22),
    "yellow_tripdata_2019-03_Y25.parquet": ("yellow", {**Y22, **CBD}),
    "green_tripdata_2019-03_G20.csv.gz": ("green", G20),
    "green_tripdata_2019-03_G20.parquet": ("green", G20),
    "green_tripdata_2019-03_G25.parquet": ("green", {**G20, **CBD}),
    "fhvhv_tripdata_2019-03_HVD.parquet": ("hvfhv", HVD),
    "fhvhv_tripdata_2019-03_HV.csv": (
        "hvfhv",
        {**HVD, "vendor": ["HV0003", "HV0005", "HV0003"], "dispatching_base": BASES},
    ),
    "fhv_tripdata_2019-03_F20.csv": (
        "fhv",
        {
            **TIMES,
            "vendor": BASES,
            "dispatching_base": BASES,
            "pickup_zone": [132, None, 264],
            "dropoff_zone": [230, None, 265],
            "shared": [True, None, None],
        },
    ),
}


def test_every_file_of_the_folder_is_tested() -> None:
    assert {path.name for path in DATA.iterdir() if path.suffix in (".csv", ".gz", ".parquet")} == set(LAYOUTS)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_reads_into_exactly_these_rides(name: str, tmp_path: Path) -> None:
    service, expected = LAYOUTS[name]
    read = read_file(DATA / name, tmp_path)
    filled = {column: values for column, values in expected.items() if any(value is not None for value in values)}
    rides = read.rides.drop("ride_id", "row")
    assert {c.name: c.to_list() for c in rides if c.null_count() < 3} == filled
    assert (read.service, read.unreadable.height, read.rows, read.ignored_columns) == (service, 0, 3, ())
    assert read.rides["row"].to_list() == [1, 2, 3]


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_a_ride_frame_of_the_same_types(name: str, tmp_path: Path) -> None:
    assert read_file(DATA / name, tmp_path).rides.schema == pl.Schema([*RIDE_DTYPES.items(), ("row", pl.Int64)])


@pytest.mark.parametrize(
    "names",
    [
        ("green_tripdata_2019-03_G20.csv.gz", "green_tripdata_2019-03_G20.parquet"),
        ("yellow_tripdata_2012-03_Y22.csv", "yellow_tripdata_2019-03_Y22.parquet"),
        ("yellow_tripdata_2009-03_Y09.csv", "yellow_tripdata_2010-03_Y10.csv"),
    ],
)
def test_a_trip_has_the_same_id_in_whatever_form_it_is_published(names: tuple[str, str], tmp_path: Path) -> None:
    first, second = (read_file(DATA / name, tmp_path).rides["ride_id"].to_list() for name in names)
    assert first == second


def test_a_ride_id_never_changes(tmp_path: Path) -> None:
    """Ids are in topics and tables already written: this test must not be edited to agree with the code."""
    assert read_file(DATA / "green_tripdata_2019-03_G20.parquet", tmp_path).rides["ride_id"].to_list() == [
        "61e1a427e739e6597a4ad7a3945d0155",
        "d53ac90685b03966890d044046e8eb12",
        "793380d206d54a3d5c5f0fc61efa65f0",
    ]
