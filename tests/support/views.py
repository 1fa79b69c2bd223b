"""Views that no user would want and every translator must get right, beside those of the taxi domain."""

from __future__ import annotations

from app.domain.measures import Count, First, Histogram, Last, Max, Min, Sum
from app.domain.view import AllTime, Group, Tumbling, View
from app.rides.ride import RIDES
from app.rides.views import VIEWS

EVERYTHING = View(
    number=99,
    name="everything",
    source=RIDES,
    groups=(Group("zone", "pickup_zone"), Group("vendor", "vendor"), Group("shared", "shared")),
    window=Tumbling("dropoff_at_us", 3600),
    measures=(
        Count("rides"),
        Sum("fare", "fare_cents"),
        Min("least", "fare_cents"),
        Max("most", "fare_cents"),
        First("first_fare", "fare_cents"),
        Last("last_fare", "fare_cents"),
        First("first_pickup", "pickup_at_us"),
        Last("last_total", "total_cents"),
        Histogram("passengers", "passenger_count", (0, 1, 255)),
    ),
    grace_seconds=60,
    retention_seconds=0,
    help="every kind of measure, by a nullable window column",
)
UNGROUPED = View(98, "ungrouped", RIDES, (), AllTime(), (Count("rides"), Max("last", "dropoff_at_us")), 0, 0, "one row")
ALL_VIEWS = (*VIEWS, EVERYTHING, UNGROUPED)
