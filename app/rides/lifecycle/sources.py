"""The two records of a ride's life: where and when it starts and ends, and what was paid.

Both topics have the ride id as their key, so all records of a ride are in one task.
"""

from __future__ import annotations

from app.domain.column import Equals
from app.domain.event_time import YEAR_2000_US, YEAR_2100_US
from app.domain.source import Action, Column, Kind, Rule, Source, SourceTopic
from app.rides.ride import CENTS_LIMIT

START, END = "START", "END"
"""What `kind` says. Taxi, driver and ride id are those of both; the zone is where it happened."""

SKEW_SECONDS = 600


def _at(name: str, help: str) -> Column:
    return Column(name, Kind.INSTANT, False, YEAR_2000_US, YEAR_2100_US - 1, help)


def _cents(name: str, help: str, *, nullable: bool = True) -> Column:
    return Column(name, Kind.INTEGER, nullable, -CENTS_LIMIT, CENTS_LIMIT, help)


_RIDE_ID = Column("ride_id", Kind.TEXT, False, help="that of the ride in the ride topics")

RIDE_EVENTS = Source(
    number=2,
    name="ride_events",
    topics=(SourceTopic(5, "ride_events"),),
    record="RideEvent",
    columns=(
        _RIDE_ID,
        Column("kind", Kind.TEXT, False, help=f"{START} or {END}"),
        Column("service", Kind.TEXT, False, help="yellow, green, fhv or hvfhv"),
        Column("taxi_id", Kind.IDENTIFIER, False, 1, help="the car; in one ride at a time"),
        Column("driver_id", Kind.IDENTIFIER, False, 1, help="who drives it; one shift, one car"),
        Column("zone", Kind.IDENTIFIER, True, 1, 265, "TLC zone; null where the service publishes none"),
        _at("happened_at_us", "meter engaged (START) or disengaged (END)"),
    ),
    derived=(
        Equals(Column("is_start", Kind.INTEGER, False, 0, 1, "1 for a START"), "kind", START),
        Equals(Column("is_end", Kind.INTEGER, False, 0, 1, "1 for an END"), "kind", END),
    ),
    rules=(Rule("nowhere", Action.COUNT, "zone is null", "the service publishes no zone"),),
    key="ride_id",
    reported_at="happened_at_us",
    id="ride_id",
    told_apart_by=("kind",),
    skew_seconds=SKEW_SECONDS,
    help="A ride starts or ends. Times in microseconds since the epoch (UTC).",
)

FARES = Source(
    number=3,
    name="fares",
    topics=(SourceTopic(6, "fares"),),
    record="Fare",
    columns=(
        _RIDE_ID,
        _cents("fare_cents", "by the meter, or the base fare", nullable=False),
        _cents("tip_cents", "tips, as far as they are known", nullable=False),
        _cents("total_cents", "fare, tip, tolls, taxes and fees", nullable=False),
        Column("payment_type", Kind.IDENTIFIER, True, 0, 255, "TLC code: 1 card, 2 cash, ...; null for HVFHV"),
        _at("paid_at_us", "when it was paid"),
    ),
    key="ride_id",
    reported_at="paid_at_us",
    id="ride_id",
    skew_seconds=SKEW_SECONDS,
    help="What a ride cost. Money in cents, time in microseconds since the epoch (UTC).",
)
