"""Workers die inside a transaction, or right after its commit and before anything that follows it."""

from __future__ import annotations

from app.engine.drive import failpoints
from tests.drills.world.field import Field
from tests.drills.world.fleet import has_ended

PLACES = (
    failpoints.TRANSACTION_BEGUN,
    failpoints.TRANSACTION_HALF_SENT,
    failpoints.TRANSACTION_SENT,
    failpoints.TRANSACTION_COMMITTED,
    failpoints.BATCH_APPLIED,
)


def run(field: Field) -> None:
    field.start_workers(1)
    for place in field.rng.sample(PLACES * 2, field.size.rounds + 1):
        passing = field.rng.randint(1, 30)
        victim = field.fleet.start(failpoint=f"{place}:kill:{passing}")
        field.note("armed", place=place, passing=passing, worker=victim.log.stem)
        field.wait(lambda one=victim: has_ended(one), f"a worker dies at {place}")  # type: ignore[misc]
        field.fleet.forget(victim)
