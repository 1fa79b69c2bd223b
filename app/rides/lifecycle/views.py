"""Views over the lives of rides: what was paid, and how."""

from __future__ import annotations

from app.domain.measures.kinds import Count, Max, Sum
from app.domain.view import Group, View
from app.domain.windows.tumbling import Tumbling
from app.rides.lifecycle.sources import FARES
from app.rides.views import DAY_SECONDS

PAYMENTS = View(
    number=4,
    name="payments",
    source=FARES,
    groups=(Group("payment", "payment_type"),),
    window=Tumbling("paid_at_us", size_seconds=3600),
    measures=(
        Count("fares", "fares paid"),
        Sum("fare_cents", "fare_cents", "fares"),
        Sum("tip_cents", "tip_cents", "tips, as far as they are known"),
        Sum("total_cents", "total_cents", "totals paid"),
        Max("dearest_cents", "total_cents", "highest total of a ride"),
    ),
    grace_seconds=3600,
    retention_seconds=400 * DAY_SECONDS,
    help="Fares paid per way of payment, hour by hour.",
)

LIFE_VIEWS = (PAYMENTS,)
