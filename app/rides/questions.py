"""Views that answer what is asked about taxis (docs/questions.md), where a setting switches them on."""

from __future__ import annotations

from app.domain.figures.kinds import DifferenceOf, Mean, Quantile, Ratio
from app.domain.measures.kinds import Count, Histogram, Max, Min, Sum
from app.domain.view import Group, View
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.rides.ride import MINUTE_US, RIDES
from app.rides.views import DAY_SECONDS

VENDOR_MINUTES = View(
    number=5,
    name="vendor_minutes",
    source=RIDES,
    groups=(Group("vendor", "vendor"),),
    window=Tumbling("pickup_at_us", size_seconds=60),
    measures=(Count("trips", "trips begun"),),
    grace_seconds=3 * 3600,
    retention_seconds=30 * DAY_SECONDS,
    help="Trips begun per vendor and minute.",
)

ROUTES = View(
    number=6,
    name="routes",
    source=RIDES,
    groups=(Group("from_zone", "pickup_zone"), Group("to_zone", "dropoff_zone")),
    window=Tumbling("dropoff_at_us", size_seconds=60),
    measures=(
        Count("rides", "rides ended"),
        Max("latest_us", "reported_at_us", "when the last of them ended"),
        Sum("total_cents", "total_cents", "totals charged"),
        Histogram(
            "duration_minutes",
            "duration_us",
            tuple(minutes * MINUTE_US for minutes in (0, 5, 10, 15, 20, 25, 30, 45, 60, 90, 120)),
            "rides by duration: below 0, [0, 5), [5, 10), ... [90, 120), 120 minutes and more",
        ),
    ),
    grace_seconds=900,
    retention_seconds=DAY_SECONDS,
    help="Rides ended per route, from zone to zone, in panes of a minute.",
    figures=(
        Mean("mean_total_cents", "total_cents", "mean total of a ride"),
        Quantile("median_duration_us", "duration_minutes", 50, "in which bin the median duration is"),
        Quantile("p95_duration_us", "duration_minutes", 95, "below the end of which 95 % of the durations are"),
    ),
)
"""Grace may be short: the watermark follows drop-offs, as these windows do."""

CARD_TIPS = View(
    number=7,
    name="card_tips",
    source=RIDES,
    groups=(Group("payment", "payment_type"),),
    window=Tumbling("dropoff_at_us", size_seconds=3600),
    measures=(
        Count("rides", "rides ended"),
        Sum("fare_cents", "fare_cents", "fares"),
        Sum("tip_cents", "tip_cents", "card tips; those in cash are in no record"),
    ),
    grace_seconds=900,
    retention_seconds=400 * DAY_SECONDS,
    help="Fares and card tips per payment type and hour.",
    figures=(Ratio("tip_rate", "tip_cents", "fare_cents", help="tips for each cent of fare"),),
)

STREAKS = View(
    number=8,
    name="streaks",
    source=RIDES,
    groups=(Group("zone", "pickup_zone"),),
    window=Session("pickup_at_us", gap_seconds=300),
    measures=(
        Count("pickups", "pick-ups in it"),
        Min("first_us", "pickup_at_us", "its first pick-up"),
        Max("last_us", "pickup_at_us", "its last pick-up"),
    ),
    grace_seconds=3 * 3600,
    retention_seconds=30 * DAY_SECONDS,
    help="Unbroken streaks of pick-ups per zone: no five minutes without one.",
    figures=(DifferenceOf("length_us", "last_us", "first_us", "from the first pick-up to the last"),),
)

PAYMENT_SESSIONS = View(
    number=9,
    name="payment_sessions",
    source=RIDES,
    groups=(Group("payment", "payment_type"),),
    window=Session("dropoff_at_us", gap_seconds=60),
    measures=(
        Count("rides", "rides ended in it"),
        Sum("total_cents", "total_cents", "totals charged"),
    ),
    grace_seconds=900,
    retention_seconds=7 * DAY_SECONDS,
    help="Sessions of rides that ended, per payment type: no minute without one.",
)

QUESTIONS: tuple[View, ...] = (VENDOR_MINUTES, ROUTES, CARD_TIPS, STREAKS, PAYMENT_SESSIONS)
