"""Writes the small files beside it: three invented trips, as every generation of TLC's files has them.

    python tests/data/tlc/make.py

Not copied from TLC: the trips never took place. tests/unit/rides/test_tlc_layouts.py says how they must be read.
"""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Sequence
from pathlib import Path

import polars as pl

HERE = Path(__file__).parent

VENDOR = ["1", "2", "2"]
VENDOR_NAME = ["CMT", "VTS", "DDS"]
PICKUP = ["2019-03-05 08:15:30", "2019-03-05 23:58:01", "2019-03-06 00:10:00"]
DROPOFF = ["2019-03-05 08:41:00", "2019-03-06 00:07:31", "2019-03-06 00:10:00"]
PASSENGERS = [1, 2, None]
DISTANCE = [17.2, 0.73, 0.0]
RATE = [2, 1, None]
STORED = ["N", "Y", None]
PICKUP_ZONE = [132, 161, 264]
DROPOFF_ZONE = [230, 162, 265]
PAYMENT = [1, 2, None]
FARE = [52.0, 6.5, -2.5]
EXTRA = [0.0, 0.5, -0.5]
MTA_TAX = [0.5, 0.5, -0.5]
TIP = [11.66, 0.0, 0.0]
TOLLS = [5.76, 0.0, 0.0]
IMPROVEMENT = [0.3, 0.3, -0.3]
TOTAL = [72.72, 10.3, -3.8]
CONGESTION = [2.5, 2.5, None]
AIRPORT = [1.25, 0.0, None]
CBD = [0.75, 0.75, None]
LONGITUDE, LATITUDE = [-73.78, -73.97, 0.0], [40.64, 40.75, 0.0]

PLACES = {"pickup_longitude": LONGITUDE, "pickup_latitude": LATITUDE}
ARRIVALS = {"dropoff_longitude": LONGITUDE, "dropoff_latitude": LATITUDE}

Columns = dict[str, Sequence[object]]


def y09() -> Columns:
    """Yellow 2009: names instead of codes, coordinates, no improvement surcharge."""
    return {
        "vendor_name": VENDOR_NAME, "Trip_Pickup_DateTime": PICKUP, "Trip_Dropoff_DateTime": DROPOFF,
        "Passenger_Count": PASSENGERS, "Trip_Distance": [17.2, 0.7299999999999999, 0.0],
        "Start_Lon": LONGITUDE, "Start_Lat": LATITUDE, "Rate_Code": RATE, "store_and_forward": [0, 1, None],
        "End_Lon": LONGITUDE, "End_Lat": LATITUDE, "Payment_Type": ["Credit", "CASH", None],
        "Fare_Amt": FARE, "surcharge": EXTRA, "mta_tax": MTA_TAX, "Tip_Amt": TIP,
        "Tolls_Amt": TOLLS, "Total_Amt": TOTAL,
    }  # fmt: skip


def y10() -> Columns:
    """Yellow 2010."""
    return {
        "vendor_id": VENDOR_NAME, "pickup_datetime": PICKUP, "dropoff_datetime": DROPOFF,
        "passenger_count": PASSENGERS, "trip_distance": DISTANCE, **PLACES, "rate_code": RATE,
        "store_and_fwd_flag": STORED, **ARRIVALS, "payment_type": ["CRE", "Cas", None], "fare_amount": FARE,
        "surcharge": EXTRA, "mta_tax": MTA_TAX, "tip_amount": TIP, "tolls_amount": TOLLS,
        "total_amount": TOTAL,
    }  # fmt: skip


def y16() -> Columns:
    """Yellow 2015 to June 2016: codes, and still coordinates."""
    return {
        **_start("VendorID", "tpep_"), "passenger_count": PASSENGERS, "trip_distance": DISTANCE, **PLACES,
        "RateCodeID": RATE, "store_and_fwd_flag": STORED, **ARRIVALS, "payment_type": PAYMENT, **_amounts(),
    }  # fmt: skip


def yn() -> Columns:
    """Yellow 2019, renamed by those who drew the sample; nothing in it says yellow but the file's name."""
    return {
        **_start("vendor_id", ""), "passenger_count": PASSENGERS, "trip_distance": DISTANCE,
        "rate_code_id": RATE, "store_and_fwd_flag": STORED, "pickup_location_id": PICKUP_ZONE,
        "dropoff_location_id": DROPOFF_ZONE, "payment_type": PAYMENT, **_amounts(),
        "congestion_surcharge": CONGESTION,
    }  # fmt: skip


def y22() -> Columns:
    """Yellow as published again in Parquet."""
    return {
        **_start("VendorID", "tpep_"), "passenger_count": PASSENGERS, "trip_distance": DISTANCE,
        "RatecodeID": RATE, "store_and_fwd_flag": STORED, "PULocationID": PICKUP_ZONE,
        "DOLocationID": DROPOFF_ZONE, "payment_type": PAYMENT, **_amounts(),
        "congestion_surcharge": CONGESTION, "airport_fee": AIRPORT,
    }  # fmt: skip


def y25() -> Columns:
    """Yellow since 2025: another capital, and the fee for the central business district."""
    columns = y22()
    airport = columns.pop("airport_fee")
    return {**columns, "Airport_fee": airport, "cbd_congestion_fee": CBD}


def g20() -> Columns:
    """Green."""
    return {
        **_start("VendorID", "lpep_"), "store_and_fwd_flag": STORED, "RatecodeID": RATE,
        "PULocationID": PICKUP_ZONE, "DOLocationID": DROPOFF_ZONE, "passenger_count": PASSENGERS,
        "trip_distance": DISTANCE, **_amounts(), "ehail_fee": [None] * 3, "payment_type": PAYMENT,
        "trip_type": [1, 2, None], "congestion_surcharge": CONGESTION,
    }  # fmt: skip


def g25() -> Columns:
    """Green since 2025."""
    return {**g20(), "cbd_congestion_fee": CBD}


def hvd() -> Columns:
    """HVFHV without its licence and base numbers."""
    return {
        "request_datetime": ["2019-03-05 08:05:00", "2019-03-05 23:50:00", "2019-03-06 00:01:00"],
        "on_scene_datetime": ["2019-03-05 08:14:00", None, "2019-03-06 00:09:59"],
        "pickup_datetime": PICKUP, "dropoff_datetime": DROPOFF, "PULocationID": PICKUP_ZONE,
        "DOLocationID": DROPOFF_ZONE, "trip_miles": DISTANCE, "trip_time": [1530, 570, 0],
        "base_passenger_fare": FARE, "tolls": TOLLS, "bcf": [1.43, 0.18, 0.0], "sales_tax": [4.62, 0.58, 0.0],
        "congestion_surcharge": CONGESTION, "airport_fee": AIRPORT, "tips": TIP,
        "driver_pay": [40.01, 5.0, 0.0], "shared_request_flag": ["Y", "N", "N"],
        "shared_match_flag": ["Y", "N", None], "access_a_ride_flag": [" ", " ", "N"],
        "wav_request_flag": ["N"] * 3, "wav_match_flag": ["N"] * 3,
    }  # fmt: skip


def hv() -> Columns:
    """HVFHV."""
    bases = ["B99001", "B99002", "B99003"]
    names: Columns = {"hvfhs_license_num": ["HV0003", "HV0005", "HV0003"], "dispatching_base_num": bases}
    return {**names, "originating_base_num": ["B99001", None, None], **hvd()}


def f20() -> Columns:
    """FHV since 2017, with its odd capitals."""
    return {
        "dispatching_base_num": ["B99001", "B99002", "B99003"], "pickup_datetime": PICKUP,
        "dropOff_datetime": DROPOFF, "PUlocationID": [132, None, 264], "DOlocationID": [230, None, 265],
        "SR_Flag": [1, None, None], "Affiliated_base_number": ["B99001", None, "B99009"],
    }  # fmt: skip


def _start(vendor: str, prefix: str) -> Columns:
    return {vendor: VENDOR, f"{prefix}pickup_datetime": PICKUP, f"{prefix}dropoff_datetime": DROPOFF}


def _amounts() -> Columns:
    return {
        "fare_amount": FARE, "extra": EXTRA, "mta_tax": MTA_TAX, "tip_amount": TIP, "tolls_amount": TOLLS,
        "improvement_surcharge": IMPROVEMENT, "total_amount": TOTAL,
    }  # fmt: skip


def numbered(columns: Columns) -> Columns:
    """With the two row-number columns that pandas leaves when a sample is saved twice."""
    return {"": [74, 12, 3], "Unnamed: 0": [74, 12, 3], **columns}


def csv(columns: Columns, *, quoted: bool = False, end: str = "\n") -> str:
    """As CSV; `quoted`: text and names in quotes, times with six decimals, as TLC wrote for-hire files."""

    def field(value: object) -> str:
        if value is None:
            return ""
        is_time = isinstance(value, str) and value.startswith("2019-")
        if not quoted or not isinstance(value, str):
            return str(value)
        return f"{value}.000000" if is_time else f'"{value}"'

    names = ",".join(f'"{name}"' if quoted else name for name in columns)
    rows = (",".join(map(field, row)) for row in zip(*columns.values(), strict=True))
    return end.join([names, *rows, ""])


def parquet(columns: Columns, path: Path, *, whole: pl.DataType, vendor: pl.DataType) -> None:
    """As Parquet; `whole`: the type of codes that may be null, which drifts from month to month."""

    def series(name: str, values: Sequence[object]) -> pl.Series:
        if "datetime" in name:
            times = [dt.datetime.fromisoformat(str(value)) if value else None for value in values]
            return pl.Series(name, times, dtype=pl.Datetime("us"))
        if name in ("VendorID", "PULocationID", "DOLocationID"):
            return pl.Series(name, [int(str(value)) for value in values], dtype=vendor)
        if name in ("passenger_count", "RatecodeID", "payment_type", "trip_type"):
            return pl.Series(name, values, dtype=whole)
        return pl.Series(name, values)

    pl.DataFrame([series(name, values) for name, values in columns.items()]).write_parquet(path)


def main() -> None:
    """Write every file."""
    texts = {
        "yellow_tripdata_2009-03_Y09.csv": csv(numbered(y09()), end="\r\n"),
        "yellow_tripdata_2010-03_Y10.csv": csv(y10()),
        "yellow_tripdata_2016-03_Y16.csv": csv(y16()),
        "yellow_tripdata_2019-03_YN.csv": csv(yn()),
        "yellow_tripdata_2012-03_Y22.csv": csv(numbered(y22()), end="\r\n"),
        "fhvhv_tripdata_2019-03_HV.csv": csv(hv(), quoted=True),
        "fhv_tripdata_2019-03_F20.csv": csv(f20(), quoted=True),
    }
    for name, text in texts.items():
        (HERE / name).write_text(text, newline="")
    (HERE / "green_tripdata_2019-03_G20.csv.gz").write_bytes(gzip.compress(csv(g20()).encode(), mtime=0))
    double, int32, int64 = pl.Float64(), pl.Int32(), pl.Int64()
    parquet(y22(), HERE / "yellow_tripdata_2019-03_Y22.parquet", whole=double, vendor=int64)
    parquet(y25(), HERE / "yellow_tripdata_2019-03_Y25.parquet", whole=double, vendor=int32)
    parquet(g20(), HERE / "green_tripdata_2019-03_G20.parquet", whole=double, vendor=int64)
    parquet(g25(), HERE / "green_tripdata_2019-03_G25.parquet", whole=int64, vendor=int32)
    parquet(hvd(), HERE / "fhvhv_tripdata_2019-03_HVD.parquet", whole=double, vendor=int32)


if __name__ == "__main__":
    main()
