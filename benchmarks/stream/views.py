"""The views that are benched: one that every system keeps, and two more lines for the worker alone."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from app.domain.measures.kinds import Count, Max, Sum
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.contract import Window
from app.domain.windows.tumbling import Tumbling
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND

PANE_SECONDS = 300
GRACE_SECONDS = 6 * 3600
"""Longer than any generated ride: nothing is late, so that engines with another rule of lateness can be compared."""
DAY_SECONDS = 86_400


def _view(number: int, name: str, group: Group, window: Window) -> View:
    """A row: count, fingerprint, three sums and two maxima, with how many values each of the five saw."""
    return View(
        number=number,
        name=name,
        source=RIDES,
        groups=(group,),
        window=window,
        measures=(
            Count("rides"),
            Sum("fare_cents", "fare_cents"),
            Sum("tip_cents", "tip_cents"),
            Sum("distance_hundredth_miles", "distance_hundredth_miles"),
            Max("longest_us", "duration_us"),
            Max("dearest_cents", "fare_cents"),
        ),
        grace_seconds=GRACE_SECONDS,
        retention_seconds=400 * DAY_SECONDS,
        help="A view of the benchmark.",
    )


def _by_pickup(seconds: int) -> Tumbling:
    return Tumbling("pickup_at_us", seconds)


PICKUP_ZONE = Group("zone", "pickup_zone")
BENCHED = _view(901, "benched", PICKUP_ZONE, _by_pickup(PANE_SECONDS))
FIVE = (
    BENCHED,
    _view(902, "pickup_zone_hourly", PICKUP_ZONE, _by_pickup(3600)),
    _view(903, "dropoff_zone_hourly", Group("zone", "dropoff_zone"), _by_pickup(3600)),
    _view(904, "payment_type_panes", Group("payment_type", "payment_type"), _by_pickup(PANE_SECONDS)),
    _view(905, "vendor_totals", Group("vendor", "vendor"), AllTime()),
)

SHIPPED = replace(ZONE_DEMAND, grace_seconds=GRACE_SECONDS)
LINES = MappingProxyType({"one": (BENCHED,), "five": FIVE, "zone_demand": (SHIPPED,)})
"""What a worker keeps, by the name of its line."""
LINE = "FLAGFALL_TEST_BENCH_LINE"
"""The environment variable by which a benched worker is told its line."""
