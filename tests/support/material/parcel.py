"""A parcel as a harness is sent it."""

from __future__ import annotations

from app.testkit.simulation.parcels import MINUTE_US
from app.testkit.simulation.samples import START_US

AIR, ROAD = "parcels.air", "parcels.road"


def parcel(minute: int, name: str = "p", **values: object) -> dict[str, object]:
    return {"parcel_id": name, "scanned_at_us": START_US + minute * MINUTE_US, **values}
