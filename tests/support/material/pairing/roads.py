"""Parcels by road, and the branch that parts the heavy ones."""

from __future__ import annotations

from app.testkit.simulation.parcels import PARCELS
from app.testkit.simulation.samples import START_US
from app.testkit.simulation.sent_on import WEIGHED

AIR, ROAD = (topic.name for topic in PARCELS.topics)

HEAVY, LIGHT = WEIGHED.outputs


def parcel(weight_grams: int | None, transit_us: int | None = None) -> dict[str, object]:
    delivered = None if transit_us is None else START_US + transit_us
    return {"parcel_id": "p", "scanned_at_us": START_US, "delivered_at_us": delivered, "weight_grams": weight_grams}
