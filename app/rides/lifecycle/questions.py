"""Views that answer what is asked about taxis and drivers (docs/questions.md), where a setting switches them on."""

from __future__ import annotations

from app.domain.figures.kinds import DifferenceOf, Ratio
from app.domain.measures.kinds import Count, Last, Max, Min, Sum
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.rides.lifecycle.pairing import FARED, HOUR_SECONDS
from app.rides.lifecycle.sources import RIDE_EVENTS
from app.rides.views import DAY_SECONDS

FARED_GRACE_SECONDS = 14 * HOUR_SECONDS
"""Starts and fares are joined over six hours and let go of an hour later: two bounds and that, and one to spare."""

TAXIS = View(
    number=10,
    name="taxis",
    source=RIDE_EVENTS,
    groups=(Group("taxi", "taxi_id"),),
    window=AllTime(),
    measures=(
        Sum("rides", "is_start", "rides begun"),
        Max("last_us", "happened_at_us", "when a ride of it began or ended last"),
        Last("last_zone", "zone", "the last zone that is known of it"),
        Last("is_nowhere", "nowhere", "1 if that is not where it was last, as its service publishes no zone then"),
        Last("is_empty", "is_end", "1 if that was an end, 0 if a ride is under way"),
    ),
    grace_seconds=0,
    retention_seconds=0,
    help="What each taxi did last, and where.",
)

SHIFTS = View(
    number=11,
    name="shifts",
    source=RIDE_EVENTS,
    groups=(Group("driver", "driver_id"),),
    window=Session("happened_at_us", gap_seconds=4 * HOUR_SECONDS),
    measures=(
        Count("events", "starts and ends"),
        Sum("rides", "is_start", "rides begun"),
        Min("first_us", "happened_at_us", "the first start"),
        Max("last_us", "happened_at_us", "the last end"),
    ),
    grace_seconds=HOUR_SECONDS,
    retention_seconds=30 * DAY_SECONDS,
    help="Shifts of drivers: no four hours without a ride that begins or ends.",
    figures=(DifferenceOf("length_us", "last_us", "first_us", "from the first start to the last end"),),
)

DRIVER_HOURS = View(
    number=12,
    name="driver_hours",
    source=FARED,
    groups=(Group("driver", "driver_id"),),
    window=Tumbling("started_at_us", size_seconds=HOUR_SECONDS),
    measures=(
        Count("rides", "rides begun"),
        Sum("fare_cents", "fare_cents", "fares"),
        Sum("tip_cents", "tip_cents", "tips, as far as they are known"),
    ),
    grace_seconds=FARED_GRACE_SECONDS,
    retention_seconds=30 * DAY_SECONDS,
    help="What each driver was paid for the rides begun in an hour.",
    figures=(Ratio("tip_rate", "tip_cents", "fare_cents", help="tips for each cent of fare"),),
)

PAID_FARES = View(
    number=13,
    name="paid_fares",
    source=FARED,
    groups=(Group("zone", "zone"), Group("paid_cents", "paid_cents")),
    window=Tumbling("paid_at_us", size_seconds=60),
    measures=(Count("rides", "rides paid"),),
    grace_seconds=FARED_GRACE_SECONDS,
    retention_seconds=DAY_SECONDS,
    help="Rides by zone of the start and by what was paid for them, fare and tip; minute by minute of the paying.",
)

LIFE_QUESTIONS, FARED_QUESTIONS = (TAXIS, SHIFTS), (DRIVER_HOURS, PAID_FARES)
