"""TLC's published column names, of every generation, and what each becomes in a ride.

The one table of names. Names are compared without capitals and outer blanks, since TLC changes both
(`PULocationID`, `PUlocationID`, ` pickup_datetime`). A new generation is new lines here and no other edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Conversion(StrEnum):
    """How a published value is read; the text is what an error calls it."""

    TIME = "a local time like 2019-01-31 23:59:59"
    HUNDREDTHS = "a number"
    WHOLE = "a whole number"
    FLAG = "a flag (Y or N, 1 or 0)"
    PAYMENT = "a payment type"
    VENDOR = "a vendor"
    TEXT = "a text"


@dataclass(frozen=True, slots=True)
class Published:
    """One published column. `target` is None for what a ride does not keep.

    `services`: those that ever published the name; a name of one service only tells a file's service.
    """

    target: str | None
    conversion: Conversion = Conversion.TEXT
    services: frozenset[str] = frozenset()


_METERED = "yellow green"
_FOR_HIRE = "fhv hvfhv"
_EVERY = "yellow green fhv hvfhv"

# (published names, target, conversion, services)
_TABLE: tuple[tuple[str, str | None, Conversion, str], ...] = (
    ("vendorid vendor_id vendor_name", "vendor", Conversion.VENDOR, _METERED),
    ("hvfhs_license_num", "vendor", Conversion.VENDOR, "hvfhv"),
    ("tpep_pickup_datetime trip_pickup_datetime", "pickup_at_us", Conversion.TIME, "yellow"),
    ("lpep_pickup_datetime", "pickup_at_us", Conversion.TIME, "green"),
    ("pickup_date", "pickup_at_us", Conversion.TIME, "fhv"),
    ("pickup_datetime", "pickup_at_us", Conversion.TIME, _EVERY),
    ("tpep_dropoff_datetime trip_dropoff_datetime", "dropoff_at_us", Conversion.TIME, "yellow"),
    ("lpep_dropoff_datetime", "dropoff_at_us", Conversion.TIME, "green"),
    ("dropoff_datetime", "dropoff_at_us", Conversion.TIME, _EVERY),
    ("request_datetime", "requested_at_us", Conversion.TIME, "hvfhv"),
    ("on_scene_datetime", "on_scene_at_us", Conversion.TIME, "hvfhv"),
    ("pulocationid", "pickup_zone", Conversion.WHOLE, _EVERY),
    ("pickup_location_id", "pickup_zone", Conversion.WHOLE, _METERED),
    ("locationid", "pickup_zone", Conversion.WHOLE, "fhv"),
    ("dolocationid", "dropoff_zone", Conversion.WHOLE, _EVERY),
    ("dropoff_location_id", "dropoff_zone", Conversion.WHOLE, _METERED),
    ("passenger_count", "passenger_count", Conversion.WHOLE, _METERED),
    ("trip_distance", "distance_hundredth_miles", Conversion.HUNDREDTHS, _METERED),
    ("trip_miles", "distance_hundredth_miles", Conversion.HUNDREDTHS, "hvfhv"),
    ("ratecodeid rate_code_id rate_code", "rate_code", Conversion.WHOLE, _METERED),
    ("payment_type", "payment_type", Conversion.PAYMENT, _METERED),
    ("trip_type", "trip_type", Conversion.WHOLE, "green"),
    ("store_and_fwd_flag store_and_forward", "stored_and_forwarded", Conversion.FLAG, _METERED),
    ("sr_flag", "shared", Conversion.FLAG, _FOR_HIRE),
    ("shared_match_flag", "shared", Conversion.FLAG, "hvfhv"),
    ("fare_amount", "fare_cents", Conversion.HUNDREDTHS, _METERED),
    ("fare_amt", "fare_cents", Conversion.HUNDREDTHS, "yellow"),
    ("base_passenger_fare", "fare_cents", Conversion.HUNDREDTHS, "hvfhv"),
    ("extra", "extra_cents", Conversion.HUNDREDTHS, _METERED),
    ("surcharge", "extra_cents", Conversion.HUNDREDTHS, "yellow"),
    ("mta_tax", "mta_tax_cents", Conversion.HUNDREDTHS, _METERED),
    ("tip_amount", "tip_cents", Conversion.HUNDREDTHS, _METERED),
    ("tip_amt", "tip_cents", Conversion.HUNDREDTHS, "yellow"),
    ("tips", "tip_cents", Conversion.HUNDREDTHS, "hvfhv"),
    ("tolls_amount", "tolls_cents", Conversion.HUNDREDTHS, _METERED),
    ("tolls_amt", "tolls_cents", Conversion.HUNDREDTHS, "yellow"),
    ("tolls", "tolls_cents", Conversion.HUNDREDTHS, "hvfhv"),
    ("improvement_surcharge", "improvement_surcharge_cents", Conversion.HUNDREDTHS, _METERED),
    ("congestion_surcharge", "congestion_surcharge_cents", Conversion.HUNDREDTHS, "yellow green hvfhv"),
    ("airport_fee", "airport_fee_cents", Conversion.HUNDREDTHS, "yellow hvfhv"),
    ("cbd_congestion_fee", "cbd_congestion_fee_cents", Conversion.HUNDREDTHS, "yellow green hvfhv"),
    ("bcf", "black_car_fund_cents", Conversion.HUNDREDTHS, "hvfhv"),
    ("sales_tax", "sales_tax_cents", Conversion.HUNDREDTHS, "hvfhv"),
    ("driver_pay", "driver_pay_cents", Conversion.HUNDREDTHS, "hvfhv"),
    ("total_amount", "total_cents", Conversion.HUNDREDTHS, _METERED),
    ("total_amt", "total_cents", Conversion.HUNDREDTHS, "yellow"),
    ("dispatching_base_num", "dispatching_base", Conversion.TEXT, _FOR_HIRE),
    # not kept: coordinates, copies of other columns, row numbers of those who drew the sample
    ("start_lon start_lat end_lon end_lat", None, Conversion.TEXT, "yellow"),
    ("pickup_longitude pickup_latitude dropoff_longitude dropoff_latitude", None, Conversion.TEXT, _METERED),
    ("ehail_fee", None, Conversion.TEXT, "green"),
    ("affiliated_base_number", None, Conversion.TEXT, "fhv"),
    ("originating_base_num trip_time shared_request_flag", None, Conversion.TEXT, "hvfhv"),
    ("access_a_ride_flag wav_request_flag wav_match_flag", None, Conversion.TEXT, "hvfhv"),
)

PUBLISHED: dict[str, Published] = {
    name: Published(target, conversion, frozenset(services.split()))
    for names, target, conversion, services in _TABLE
    for name in names.split()
}

_ROW_NUMBERS = Published(None)
_BYTE_ORDER_MARK = "\ufeff"


def normal_name(name: str) -> str:
    """A published name as the table spells it; a byte order mark and quotes are dropped too."""
    return name.removeprefix(_BYTE_ORDER_MARK).strip(' \t"').lower()


def understand(name: str) -> Published | None:
    """What the published column `name` is, None if no generation has it.

    Nameless columns, and pandas' `Unnamed: 0`, are row numbers: understood, and not kept.
    """
    normal = normal_name(name)
    if not normal or normal.startswith(("unnamed:", "__index_level_")):
        return _ROW_NUMBERS
    return PUBLISHED.get(normal)
