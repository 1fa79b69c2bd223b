"""Records that a task refused, as their topics hold them."""

from __future__ import annotations

from typing import Any

from app.domain.records import Place
from app.edge.late.refused import LATE, RefusedRecord
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from app.testkit.encoding import encode, schema_of
from tests.support.material.histories import START_US

SCHEMAS = {7: schema_of(RIDES, 7), 8: None}

RIDE: dict[str, Any] = {"ride_id": "r", "vendor": "1", "pickup_at_us": START_US, "dropoff_at_us": START_US + 1}


def refused(reason: str = LATE, value: bytes | None = None, **changed: Any) -> RefusedRecord:
    views = {ZONE_DEMAND.name: ZONE_DEMAND.version} if reason == LATE else {}
    place = Place("rides.yellow", 1, 5)
    told = {"place": place, "timestamp_ms": START_US // 1000, "key": b"k", "value": value or encode(RIDES, 7, RIDE)}
    return RefusedRecord(**{**told, "headers": (), "reason": reason, "views": views, **changed})
