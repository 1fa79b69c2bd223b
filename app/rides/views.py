"""The views of the taxi domain. Add one here; `flagfall topics create` makes the topic of its finals."""

from __future__ import annotations

from app.domain.figures.kinds import Mean, Quantile, Ratio
from app.domain.measures.kinds import Count, Histogram, Max, Sum
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.tumbling import Tumbling
from app.rides.ride import MINUTE_US, RIDES

DAY_SECONDS = 86_400

ZONE_DEMAND = View(
    number=1,
    name="zone_demand",
    source=RIDES,
    groups=(Group("zone", "pickup_zone"),),
    window=Tumbling("pickup_at_us", size_seconds=300),
    measures=(
        Count("rides", "rides begun"),
        Sum("passengers", "passenger_count", "passengers, where the driver entered them"),
        Sum("fare_cents", "fare_cents", "fares"),
        Sum("tip_cents", "tip_cents", "card tips"),
        Sum("total_cents", "total_cents", "totals charged"),
        Sum("distance_hundredth_miles", "distance_hundredth_miles", "distance driven"),
        Max("longest_us", "duration_us", "longest duration of a ride"),
        Max("dearest_cents", "total_cents", "highest total of a ride"),
        Histogram(
            "duration_minutes",
            "duration_us",
            tuple(minutes * MINUTE_US for minutes in (0, 5, 10, 15, 20, 30, 45, 60, 90, 120)),
            "rides by duration: below 0, [0, 5), [5, 10), ... [90, 120), 120 minutes and more",
        ),
    ),
    grace_seconds=3 * 3600,
    retention_seconds=400 * DAY_SECONDS,
    help="Rides begun per pick-up zone in panes of 5 minutes.",
    figures=(
        Mean("mean_total_cents", "total_cents", "mean total of a ride"),
        Ratio("fare_per_mile_cents", "fare_cents", "distance_hundredth_miles", 100, "fares for each mile driven"),
        Ratio("tip_share", "tip_cents", "fare_cents", help="card tips for each cent of fare"),
        Quantile("median_duration_us", "duration_minutes", 50, "in which bin the median duration is"),
        Quantile("p95_duration_us", "duration_minutes", 95, "below the end of which 95 % of the durations are"),
    ),
)

VENDOR_TRIPS = View(
    number=2,
    name="vendor_trips",
    source=RIDES,
    groups=(Group("vendor", "vendor"),),
    window=AllTime(),
    measures=(Count("trips", "trips so far"),),
    grace_seconds=0,
    retention_seconds=0,
    help="Running count of trips per vendor, without a window.",
)

CLEANLINESS = View(
    number=3,
    name="cleanliness",
    source=RIDES,
    groups=(Group("vendor", "vendor"),),
    window=AllTime(),
    measures=(Count("rides", "rides so far"), *(Sum(rule.name, rule.name, rule.help) for rule in RIDES.rules)),
    grace_seconds=0,
    retention_seconds=0,
    help="How many rides of a vendor are odd, by each rule; a ride may be so by several.",
)
"""Of all that is used, late rides too; where a setting switches it on."""

VIEWS: tuple[View, ...] = (ZONE_DEMAND, VENDOR_TRIPS)
