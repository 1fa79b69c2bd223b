"""A mistake in the agent, or in the engine at any place: the worker ends, is started again, and nothing is skipped."""

from __future__ import annotations

from app.engine.drive import failpoints
from tests.drills.world.field import Field

PLACES = (
    failpoints.BATCH_OFFERED,
    failpoints.BATCH_TAKEN,
    failpoints.TRANSACTION_HALF_SENT,
    failpoints.TRANSACTION_SENT,
    failpoints.TRANSACTION_COMMITTED,
    failpoints.BATCH_APPLIED,
)


def run(field: Field) -> None:
    field.start_workers(1)
    for place in field.rng.sample(PLACES, min(field.size.rounds, len(PLACES))):
        passing = field.rng.randint(1, 30)
        worker = field.fleet.start(failpoint=f"{place}:raise:{passing}")
        field.note("armed", place=place, passing=passing, worker=worker.log.stem)
        raised = f"fail-point {place}: raise"
        field.wait(lambda: raised in worker.log.read_text(), f"a worker raises at {place}")  # noqa: B023
        field.wait(field.fleet.own_all, "the workers share all tasks", mend=True)
        if len(field.fleet.members) > 1:
            field.fleet.kill(field.fleet.members[0])
