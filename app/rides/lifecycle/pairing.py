"""What belongs together in the life of a ride: its start and its fare; and the rides that last too long."""

from __future__ import annotations

from dataclasses import replace

from app.domain.column import Addition
from app.domain.pairs.alert import Alert
from app.domain.pairs.half import Half, Only
from app.domain.pairs.join import Either, Join, JoinKind, Side, Taken
from app.domain.source import Column, Kind, SourceTopic
from app.rides.lifecycle.sources import END, FARES, RIDE_EVENTS, START
from app.rides.ride import CENTS_LIMIT

HOUR_SECONDS = 3600

_EVENTS = RIDE_EVENTS.topics[0].name
STARTS = Half(RIDE_EVENTS, _EVENTS, id="ride_id", at="happened_at_us", only=Only("kind", (START,)))
ENDS = Half(RIDE_EVENTS, _EVENTS, id="ride_id", at="happened_at_us", only=Only("kind", (END,)))

FARED_STARTS = Join(
    number=1,
    name="fared_starts",
    kind=JoinKind.OUTER,
    left=STARTS,
    right=Half(FARES, FARES.topics[0].name, id="ride_id", at="paid_at_us"),
    bound_seconds=6 * HOUR_SECONDS,
    grace_seconds=HOUR_SECONDS,
    columns=(
        Either("ride_id", "ride_id", "ride_id"),
        Taken("service", Side.LEFT, "service"),
        Taken("taxi_id", Side.LEFT, "taxi_id"),
        Taken("driver_id", Side.LEFT, "driver_id"),
        Taken("zone", Side.LEFT, "zone"),
        Taken("fare_cents", Side.RIGHT, "fare_cents"),
        Taken("tip_cents", Side.RIGHT, "tip_cents"),
        Taken("total_cents", Side.RIGHT, "total_cents"),
        Taken("payment_type", Side.RIGHT, "payment_type"),
        Taken("started_at_us", Side.LEFT, "happened_at_us"),
        Taken("paid_at_us", Side.RIGHT, "paid_at_us"),
        Either("known_at_us", "happened_at_us", "paid_at_us"),
    ),
    key="ride_id",
    reported_at="known_at_us",
    output=SourceTopic(7, "rides.fared"),
    help="starts of rides with what was paid for them, and either without the other",
)

FARED = replace(
    FARED_STARTS.source,
    derived=(
        Addition(
            Column("paid_cents", Kind.INTEGER, True, -2 * CENTS_LIMIT, 2 * CENTS_LIMIT, "fare and tip"),
            ("fare_cents", "tip_cents"),
        ),
    ),
)
"""What the join gives, as a source of its own."""

LONG_RIDES = Alert(
    number=1,
    name="long_rides",
    starts=STARTS,
    ends=ENDS,
    longer_than_seconds=2 * HOUR_SECONDS,
    grace_seconds=600,
    columns=("service", "taxi_id", "driver_id", "zone"),
    output=SourceTopic(8, "rides.long"),
    help="rides of more than two hours, and rides that have not ended after two hours",
)
