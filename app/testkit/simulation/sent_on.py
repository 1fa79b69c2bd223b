"""What tasks of the simulation send on: joins, an alert and a branch over its parcels and receipts."""

from __future__ import annotations

from dataclasses import replace

from app.domain.branch import Branch
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Either, Half, Join, JoinKind, Only, Side, Taken
from app.domain.source import SourceTopic
from app.testkit.simulation.parcels import PARCELS, RECEIPTS

WEIGHED = Branch(
    name="weighed",
    source=PARCELS,
    columns=("weight_grams", "transit_us"),
    threshold=500,
    high="parcels.heavy",
    low="parcels.light",
    help="heavy parcels; of those that nobody weighed, the ones that took their time",
)
SIGNED = Join(
    number=1,
    name="signed_parcels",
    left=Half(PARCELS, "parcels.road", "parcel_id", "delivered_at_us"),
    right=Half(RECEIPTS, "receipts", "parcel_id", "signed_at_us"),
    bound_seconds=900,
    grace_seconds=600,
    columns=(
        Taken("parcel_id", Side.LEFT, "parcel_id"),
        Taken("hub", Side.LEFT, "hub"),
        Taken("stars", Side.RIGHT, "stars"),
        Taken("signed_at_us", Side.RIGHT, "signed_at_us"),
    ),
    key="hub",
    reported_at="signed_at_us",
    output=SourceTopic(24, "parcels.signed"),
    help="a parcel and the receipt for it, signed within a quarter of an hour of its delivery",
)
_KEPT = replace(
    SIGNED,
    kind=JoinKind.LEFT,
    columns=(
        Either("parcel_id", "parcel_id", "parcel_id"),
        Taken("hub", Side.LEFT, "hub"),
        Taken("stars", Side.RIGHT, "stars"),
        Either("signed_at_us", "delivered_at_us", "signed_at_us"),
    ),
    help="and what was not signed, or not delivered",
)
SIGNED_KINDS = (SIGNED, _KEPT, replace(_KEPT, kind=JoinKind.OUTER))
_SOUND = Half(PARCELS, "parcels.air", "parcel_id", "scanned_at_us", Only("fragile", (False,)))
_FRAGILE = Half(PARCELS, "parcels.air", "parcel_id", "scanned_at_us", Only("fragile", (True,)))
BROKEN = Join(
    number=2,
    name="broken_parcels",
    left=_SOUND,
    right=_FRAGILE,
    bound_seconds=1800,
    grace_seconds=600,
    columns=(
        Either("parcel_id", "parcel_id", "parcel_id"),
        Taken("from_hub", Side.LEFT, "hub"),
        Taken("to_hub", Side.RIGHT, "hub"),
        Either("scanned_at_us", "scanned_at_us", "scanned_at_us"),
    ),
    key="parcel_id",
    reported_at="scanned_at_us",
    output=SourceTopic(25, "parcels.broken"),
    help="a parcel scanned sound and then fragile: two selections of one topic",
    kind=JoinKind.OUTER,
)
STUCK = Alert(
    number=1,
    name="stuck_hubs",
    starts=replace(_SOUND, id="hub"),
    ends=replace(_FRAGILE, id="hub"),
    longer_than_seconds=600,
    grace_seconds=600,
    columns=("parcel_id", "weight_grams"),
    output=SourceTopic(26, "hubs.stuck"),
    help="hubs in which no fragile parcel is scanned for ten minutes after a sound one",
)
