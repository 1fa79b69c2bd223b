"""The ride record: one Avro record for every TLC service, and what its columns mean.

Money is in cents, time in microseconds since the epoch (UTC), distance in hundredths of a mile.
Fields may be added (nullable, default null) and never removed: subjects are FULL_TRANSITIVE.
"""

from __future__ import annotations

from typing import Any

from app.codecs.avro.record_schema import record_schema
from app.domain.event_time import YEAR_2000_US, YEAR_2100_US
from app.domain.source import Coalesce, Column, Difference, Kind, Source, SourceTopic
from app.rides.cleanliness import RIDE_RULES

UNKNOWN_ZONE = 264
"""TLC's zone "Unknown": the Kafka key of a ride without a pick-up zone. The field itself stays null."""

MINUTE_US, HOUR_US, DAY_US = 60_000_000, 3_600_000_000, 86_400_000_000
CENTURY_US = YEAR_2100_US - YEAR_2000_US
CENTS_LIMIT = 1_000_000_000
"""Ten million dollars: above the worst overflow seen in TLC data (429,490 dollars)."""


def _instant(name: str, help: str, *, nullable: bool = True) -> Column:
    return Column(name, Kind.INSTANT, nullable, YEAR_2000_US, YEAR_2100_US - 1, help)


def _zone(name: str, help: str) -> Column:
    return Column(name, Kind.IDENTIFIER, True, 1, 265, help)


def _cents(name: str, help: str) -> Column:
    return Column(name, Kind.INTEGER, True, -CENTS_LIMIT, CENTS_LIMIT, help)


def _code(name: str, help: str) -> Column:
    return Column(name, Kind.IDENTIFIER, True, 0, 255, help)


RIDE_COLUMNS: tuple[Column, ...] = (
    Column("ride_id", Kind.TEXT, False, help="32 hex digits: hash of service, columns and k-th identical row"),
    Column("vendor", Kind.TEXT, True, help="VendorID (2009: CMT is 1, VTS is 2, DDS stays), HVFHS licence, FHV base"),
    _instant("pickup_at_us", "meter engaged", nullable=False),
    _instant("dropoff_at_us", "meter disengaged; null in some FHV files"),
    _instant("requested_at_us", "HVFHV: when the ride was asked for"),
    _instant("on_scene_at_us", "HVFHV: when the car was there"),
    _zone("pickup_zone", "TLC zone, 1 to 265"),
    _zone("dropoff_zone", "TLC zone, 1 to 265"),
    Column("passenger_count", Kind.INTEGER, True, 0, 255, "as entered by the driver"),
    Column("distance_hundredth_miles", Kind.INTEGER, True, -100_000_000, 100_000_000, "trip distance"),
    _code("rate_code", "RatecodeID"),
    _code("payment_type", "TLC code: 1 card, 2 cash, 3 no charge, 4 dispute, 5 unknown, 6 voided; 0 flex fare"),
    _code("trip_type", "green: 1 street hail, 2 dispatch"),
    Column("stored_and_forwarded", Kind.FLAG, True, help="held in the vehicle's memory before it was sent"),
    Column("shared", Kind.FLAG, True, help="FHV SR_Flag, HVFHV shared_match_flag"),
    _cents("fare_cents", "fare_amount, base_passenger_fare"),
    _cents("extra_cents", "extra, surcharge"),
    _cents("mta_tax_cents", "mta_tax"),
    _cents("tip_cents", "tip_amount, tips (card tips only)"),
    _cents("tolls_cents", "tolls_amount, tolls"),
    _cents("improvement_surcharge_cents", "improvement_surcharge"),
    _cents("congestion_surcharge_cents", "congestion_surcharge"),
    _cents("airport_fee_cents", "airport_fee"),
    _cents("cbd_congestion_fee_cents", "cbd_congestion_fee, since 2025"),
    _cents("black_car_fund_cents", "HVFHV bcf"),
    _cents("sales_tax_cents", "HVFHV sales_tax"),
    _cents("driver_pay_cents", "HVFHV driver_pay"),
    _cents("total_cents", "total_amount; HVFHV and FHV publish none"),
    Column("dispatching_base", Kind.TEXT, True, help="FHV and HVFHV base licence"),
)

REPORTED_AT = Coalesce(
    _instant("reported_at_us", "drop-off; where there is none, pick-up", nullable=False),
    ("dropoff_at_us", "pickup_at_us"),
)
DURATION = Difference(
    Column(
        "duration_us", Kind.INTEGER, True, -CENTURY_US, CENTURY_US, "drop-off minus pick-up; negative in some real rows"
    ),
    "dropoff_at_us",
    "pickup_at_us",
)

RIDES = Source(
    number=1,
    name="rides",
    topics=(
        SourceTopic(1, "rides.yellow"),
        SourceTopic(2, "rides.green"),
        SourceTopic(3, "rides.fhv"),
        SourceTopic(4, "rides.hvfhv"),
    ),
    record="TaxiRide",
    columns=RIDE_COLUMNS,
    derived=(REPORTED_AT, DURATION),
    key="pickup_zone",
    reported_at="reported_at_us",
    id="ride_id",
    skew_seconds=600,
    help="A finished taxi ride. Money in cents, time in microseconds since the epoch (UTC).",
    rules=RIDE_RULES,
)


def avro_schema() -> dict[str, Any]:
    """The record's Avro schema."""
    return record_schema(RIDES)


SERVICES = {"yellow": "rides.yellow", "green": "rides.green", "fhv": "rides.fhv", "hvfhv": "rides.hvfhv"}
"""TLC service to topic."""
