"""Workers are frozen beyond their session, anywhere or at a chosen place, and wake when others have their tasks."""

from __future__ import annotations

from app.engine.drive import failpoints
from tests.drills.world.field import Field
from tests.drills.world.fleet import is_frozen

ANYWHERE = "anywhere"
TAKE_OVER = (failpoints.TASK_FENCING, failpoints.TASK_FENCED)
"""Passed once for each task, and the third of three workers may get one only."""
PLACES = (
    ANYWHERE,
    *TAKE_OVER,
    failpoints.TRANSACTION_HALF_SENT,
    failpoints.TRANSACTION_SENT,
    failpoints.TRANSACTION_COMMITTED,
)


def run(field: Field) -> None:
    field.start_workers(2)
    for place in field.rng.sample(PLACES * 2, field.size.rounds):
        if place == ANYWHERE:
            field.let_rides_pass(0, 2)
            zombie = field.rng.choice(field.fleet.members)
            field.fleet.freeze(zombie)
        else:
            passing = 1 if place in TAKE_OVER else field.rng.randint(1, 2)
            zombie = field.fleet.start(failpoint=f"{place}:stop:{passing}")
            field.note("armed", place=place, passing=passing, worker=zombie.log.stem)
        field.wait(lambda one=zombie: is_frozen(one), f"a worker freezes at {place}")  # type: ignore[misc]
        others = [worker for worker in field.fleet.members if worker is not zombie]
        field.wait(lambda: field.fleet.own_all(others), "the others have all tasks")  # noqa: B023
        field.let_rides_pass(0, 2)
        field.fleet.thaw(zombie)
        field.wait(field.fleet.own_all, "the workers share all tasks again", mend=True)
        if len(field.fleet.members) > 2:
            field.fleet.kill(field.fleet.members[0])
