"""A view over trips: how many there were in a zone, and what was paid."""

from __future__ import annotations

from app.domain.measures.kinds import Count, Sum
from app.domain.view import Group, View
from app.domain.windows.tumbling import Tumbling
from tests.support.material.trips import TRIPS

VIEW = View(
    number=1,
    name="by_zone",
    source=TRIPS,
    groups=(Group("place", "zone"),),
    window=Tumbling("begun_us", 300),
    measures=(Count("trips"), Sum("fares", "cents")),
    grace_seconds=60,
    retention_seconds=3600,
    help="trips per zone",
)
