"""What the simulation folds: parcels on their way, and receipts for them. Few columns: histories must be quick.

What joins, alerts and a branch send on of them stands in `sent_on`.
"""

from __future__ import annotations

from dataclasses import replace

from app.domain.event_time import YEAR_2000_US, YEAR_2100_US
from app.domain.measures.kinds import Count, First, Histogram, Last, Max, Min, Sum
from app.domain.source import Coalesce, Column, Difference, Kind, Source, SourceTopic
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.boundaries import Unit
from app.domain.windows.calendar import Calendar
from app.domain.windows.hopping import Hopping
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling

MINUTE_US = 60_000_000
SKEW_SECONDS = 600

_DELIVERED = Column("delivered_at_us", Kind.INSTANT, True, YEAR_2000_US, YEAR_2100_US)
PARCELS = Source(
    number=5,
    name="parcels",
    topics=(SourceTopic(21, "parcels.air"), SourceTopic(22, "parcels.road")),
    record="Parcel",
    columns=(
        Column("parcel_id", Kind.TEXT, False),
        Column("hub", Kind.IDENTIFIER, True, 1, 50),
        Column("carrier", Kind.TEXT, True),
        Column("fragile", Kind.FLAG, True),
        Column("scanned_at_us", Kind.INSTANT, False, YEAR_2000_US, YEAR_2100_US),
        _DELIVERED,
        Column("weight_grams", Kind.INTEGER, True, -1000, 30_000),
    ),
    key="hub",
    reported_at="reported_at_us",
    id="parcel_id",
    skew_seconds=SKEW_SECONDS,
    derived=(
        Coalesce(
            Column("reported_at_us", Kind.INSTANT, False, YEAR_2000_US, YEAR_2100_US),
            ("delivered_at_us", "scanned_at_us"),
        ),
        Difference(Column("transit_us", Kind.INTEGER, True, -(1 << 52), 1 << 52), "delivered_at_us", "scanned_at_us"),
    ),
)
RECEIPTS = Source(
    number=6,
    name="receipts",
    topics=(SourceTopic(23, "receipts"),),
    record="Receipt",
    columns=(
        Column("parcel_id", Kind.TEXT, True),
        Column("signed_at_us", Kind.INSTANT, False, YEAR_2000_US, YEAR_2100_US),
        Column("stars", Kind.INTEGER, True, 1, 5),
    ),
    key="parcel_id",
    reported_at="signed_at_us",
    id="parcel_id",
    skew_seconds=SKEW_SECONDS,
)

HUB_LOAD = View(
    number=1,
    name="hub_load",
    source=PARCELS,
    groups=(Group("hub", "hub"),),
    window=Tumbling("scanned_at_us", 600),
    measures=(Count("parcels"), Sum("grams", "weight_grams"), Max("heaviest", "weight_grams")),
    grace_seconds=1200,
    retention_seconds=1800,
    help="parcels scanned per hub and ten minutes",
    revisable_seconds=900,
)
DELIVERIES = View(
    number=2,
    name="deliveries",
    source=PARCELS,
    groups=(Group("carrier", "carrier"), Group("fragile", "fragile")),
    window=Tumbling("delivered_at_us", 3600),
    measures=(
        Min("lightest", "weight_grams"),
        First("first_hub", "hub"),
        Last("last_grams", "weight_grams"),
        Min("fastest_us", "transit_us"),
        Histogram("by_weight", "weight_grams", (0, 500)),
    ),
    grace_seconds=0,
    retention_seconds=3600,
    help="parcels delivered per carrier and hour: a nullable window, and every kind of measure",
)
CARRIERS = View(
    number=3,
    name="carriers",
    source=PARCELS,
    groups=(Group("carrier", "carrier"),),
    window=AllTime(),
    measures=(Count("parcels"), Sum("grams", "weight_grams")),
    grace_seconds=0,
    retention_seconds=0,
    help="running totals, never late",
)
ROUNDS = View(
    number=4,
    name="rounds",
    source=PARCELS,
    groups=(Group("carrier", "carrier"),),
    window=Session("delivered_at_us", 600),
    measures=(Count("parcels"), Max("heaviest", "weight_grams")),
    grace_seconds=1200,
    retention_seconds=600,
    help="rounds of a carrier: deliveries no more than ten minutes apart",
)
STARS = View(
    number=5,
    name="stars",
    source=RECEIPTS,
    groups=(),
    window=Tumbling("signed_at_us", 900),
    measures=(Count("receipts"), Sum("stars", "stars")),
    grace_seconds=300,
    retention_seconds=0,
    help="receipts per quarter of an hour: rows that leave as soon as they are closed",
)
BELTS = View(
    number=6,
    name="belts",
    source=PARCELS,
    groups=(Group("carrier", "carrier"),),
    window=Hopping("scanned_at_us", 1500, 600, 60),
    measures=(Count("parcels"), Last("last_grams", "weight_grams")),
    grace_seconds=600,
    retention_seconds=900,
    help="25 minutes every ten, from a minute past: what a window ends with lies in panes of their own",
)
WAVES = View(
    number=7,
    name="waves",
    source=PARCELS,
    groups=(),
    window=Hopping("delivered_at_us", 1800, 600),
    measures=(Sum("grams", "weight_grams"),),
    grace_seconds=0,
    retention_seconds=0,
    help="half an hour every ten minutes: as late as can be, and gone as soon as it is closed",
)
LOCAL_HOURS = View(
    number=8,
    name="local_hours",
    source=PARCELS,
    groups=(Group("hub", "hub"),),
    window=Calendar("delivered_at_us", Unit.HOUR, "Asia/Kolkata"),
    measures=(Count("parcels"), Min("lightest", "weight_grams")),
    grace_seconds=600,
    retention_seconds=0,
    help="hours that begin at half past, by a nullable column",
)
SHIFTS = View(
    number=9,
    name="shifts",
    source=PARCELS,
    groups=(Group("hub", "hub"),),
    window=Tumbling("scanned_at_us", 1200, 700),
    measures=(Count("parcels"), First("first_grams", "weight_grams")),
    grace_seconds=300,
    retention_seconds=600,
    help="twenty minutes, not from the full hour",
)


def changed(view: View) -> View:
    """The view as another release has it, in another version."""
    return replace(view, measures=(Max("latest_us", view.source.reported_at),))


PARCEL_VIEWS = (HUB_LOAD, DELIVERIES, CARRIERS, ROUNDS, BELTS, WAVES, LOCAL_HOURS, SHIFTS)
WITH_FINALS = (HUB_LOAD, BELTS, WAVES, LOCAL_HOURS, SHIFTS, ROUNDS)
"""Those of which a history may want final rows."""
ALL_VIEWS = (*PARCEL_VIEWS, STARS)
