"""Workers come and go while they recover a changelog of many rows, which the drill has put there itself."""

from __future__ import annotations

from contextlib import suppress

import httpx

from app.domain.rows import Cells, RowKey
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.drills.faults.changelog_writer import layout_1_row, write
from tests.drills.world.field import Field
from tests.support.machine.workers import Worker

PANE_US = 300_000_000
FIRST_PANE_US = 2_000_000_000_000_000 // PANE_US * PANE_US
"""In 2033: no ride comes so far, and no window there closes."""
ZONES = 256


def run(field: Field) -> None:
    field.start_workers(2)
    field.let_rides_pass(2, 3)
    for worker in list(field.fleet.members):
        field.fleet.kill(worker)
    rows = _rows(field.size.rows, field.settings.topics.partitions)
    write(
        field.settings, field.changelog, ((p, *layout_1_row(ZONE_DEMAND, key, row)) for (p, key), row in rows.items())
    )
    field.written_rows[ZONE_DEMAND.name] = rows
    field.note("rows-written", rows=len(rows))
    for _ in range(field.size.rounds):
        newcomer = field.fleet.start()
        field.wait(lambda one=newcomer: _standing(one) in ("recovering", "ready"), "it recovers")  # type: ignore[misc]
        field.note("meets", worker=newcomer.log.stem, standing=_standing(newcomer))
        if len(field.fleet.members) > 2:
            field.fleet.kill(field.rng.choice(field.fleet.members))


def _rows(count: int, partitions: int) -> dict[tuple[int, RowKey], Cells]:
    rows = {}
    for i in range(count):
        key = RowKey(FIRST_PANE_US + i // ZONES * PANE_US, (i % ZONES + 1,))
        rows[i % partitions, key] = (1, i, *ZONE_DEMAND.neutral[2:])
    return rows


def _standing(worker: Worker) -> str:
    with suppress(httpx.HTTPError, KeyError, ValueError):
        return str(worker.get("/readyz").json()["groups"][RIDES.name]["standing"])
    return ""
