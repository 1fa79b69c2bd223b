"""What grace costs is said by the view's own measures, over what was kept and what was late."""

from __future__ import annotations

from typing import Any

from app.domain.contribution import contribution
from app.domain.marker import Fates, Marker, ViewPosition
from app.domain.records import Place, Record
from app.edge.late.cost import Compared, cost
from app.edge.late.refused import LATE, RefusedRecord
from app.edge.late.standing import Task, adding_up
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from app.testkit.encoding import encode, filled, schema_of
from tests.support.material.histories import START_US

MINUTE_US = 60_000_000


class NothingAdded:
    def added(self, view: object, marker: object) -> frozenset[Place]:
        return frozenset()


def ride(fare_cents: int | None, minutes: int) -> dict[str, Any]:
    times = {"pickup_at_us": START_US, "dropoff_at_us": START_US + minutes * MINUTE_US}
    return filled(RIDES, {"ride_id": "r", "pickup_zone": 1, "fare_cents": fare_cents, **times})


def late(offset: int, values: dict[str, Any], version: str = ZONE_DEMAND.version) -> RefusedRecord:
    place, value = Place("rides.yellow", 0, offset), encode(RIDES, 7, values)
    return RefusedRecord(place, START_US // 1000 + 10**8, None, value, (), LATE, {ZONE_DEMAND.name: version})


def test_means_and_medians_of_late_records_stand_beside_those_of_the_kept() -> None:
    kept = [ride(100, 3), ride(300, 3), ride(None, 12)]
    rows = [contribution(ZONE_DEMAND, Record("rides.yellow", 0, i, 0, values)) for i, values in enumerate(kept)]
    sums = {c: sum(r[ZONE_DEMAND.cells.index(c)] for r in rows) for c in adding_up(ZONE_DEMAND)}
    fates = {"rides.yellow": Fates(3, 2), "rides.green": Fates(0, 0)}
    position = ViewPosition(ZONE_DEMAND.number, ZONE_DEMAND.version, fates=fates)
    task = Task(Marker("a", 1, 0, 1, {}, {ZONE_DEMAND.name: position}), sums)
    told_twice = [late(3, ride(900, 70)), late(4, ride(700, 100)), late(4, ride(700, 100))]
    refused = [*told_twice, late(5, ride(1, 1), "ffffffff")]
    found = cost(ZONE_DEMAND, [task], NothingAdded(), refused, {7: schema_of(RIDES, 7)})  # type: ignore[arg-type]
    assert (found.applied, found.late, found.share) == (3, 2, 0.4)
    by_name = {one.measure: one for one in found.measures}
    assert by_name["fare_cents"] == Compared("fare_cents", "fare_cents", 200.0, 800.0)
    assert by_name["tip_cents"] == Compared("tip_cents", "tip_cents", None, None)
    bins = Compared("duration_minutes", "duration_us", (0, 5 * MINUTE_US), (60 * MINUTE_US, 90 * MINUTE_US))
    assert by_name["duration_minutes"] == bins
