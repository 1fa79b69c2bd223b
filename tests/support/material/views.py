"""Views that no user would want and every translator must get right, beside those of the taxi domain."""

from __future__ import annotations

from app.domain.measures.kinds import Count, First, Histogram, Last, Max, Min, Sum
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.boundaries import Unit
from app.domain.windows.calendar import Calendar
from app.domain.windows.hopping import Hopping
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.rides.ride import RIDES
from app.rides.views import CLEANLINESS, VENDOR_TRIPS, VIEWS, ZONE_DEMAND

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
_BY = (Group("zone", "pickup_zone"), Group("vendor", "vendor"))
_MEASURES = (Count("rides"), Sum("fare", "fare_cents"), Last("last_fare", "fare_cents"))
SHIFTED = View(97, "shifted", RIDES, _BY, Tumbling("dropoff_at_us", 3600, 1234), _MEASURES, 60, 0, "an odd offset")
DAYS = View(96, "days", RIDES, _BY, Calendar("dropoff_at_us", Unit.DAY, "America/New_York"), _MEASURES, 600, 0, "days")
HOURS = View(
    95, "hours", RIDES, _BY[:1], Calendar("pickup_at_us", Unit.HOUR, "Asia/Kolkata"), _MEASURES, 3600, 0, "half past"
)
HOPPING = View(94, "hopping", RIDES, _BY, Hopping("dropoff_at_us", 3600, 900), _MEASURES, 600, 0, "quarters of an hour")
UNEVEN = View(93, "uneven", RIDES, _BY[:1], Hopping("pickup_at_us", 3600, 1500, 77), _MEASURES, 7200, 0, "odd steps")
TIDY = View(
    92,
    "tidy",
    RIDES,
    _BY,
    Tumbling("pickup_at_us", 3600),
    (*_MEASURES, Sum("strangers", "unknown_zone"), Max("alone", "nobody_aboard")),
    600,
    0,
    "some left out, others counted",
    leaves_out=("negative_fare", "lasts_a_day"),
)
PAID = View(91, "paid", RIDES, (), AllTime(), _MEASURES, 0, 0, "all time, some left out", leaves_out=("negative_fare",))
SHIFTS = View(
    89,
    "shifts",
    RIDES,
    (Group("vendor", "vendor"),),
    Session("pickup_at_us", 1800),
    (Count("rides"), Sum("fare", "fare_cents"), Max("most", "total_cents"), Last("left_at", "dropoff_zone")),
    3600,
    0,
    "Sessions.",
)
ODD_WINDOWS = (SHIFTED, DAYS, HOURS, HOPPING, UNEVEN)
"""Every kind of window beside plain panes, sessions and all time."""
_OWN = (CLEANLINESS, EVERYTHING, UNGROUPED, TIDY, PAID)
PLAIN_VIEWS = (*VIEWS, *_OWN)
ALL_VIEWS = (*PLAIN_VIEWS, *ODD_WINDOWS)
KNOWN_VIEWS = (ZONE_DEMAND, VENDOR_TRIPS, *_OWN, SHIFTED, DAYS, HOURS, HOPPING, UNEVEN)
"""For what is written out by hand: one more view of rides, or kind of window, changes nothing there."""
