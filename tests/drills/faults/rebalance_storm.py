"""Workers come and go every few seconds: started, told to stop, killed; hardly any recovery comes to its end."""

from __future__ import annotations

from tests.drills.world.field import Field
from tests.drills.world.fleet import has_ended

MOST_WORKERS = 3


def run(field: Field) -> None:
    field.start_workers(2)
    for _ in range(field.size.rounds):
        field.let_rides_pass(2, 5)
        for worker in [w for w in field.fleet.members if has_ended(w)]:
            field.note("gone", worker=worker.log.stem, code=worker.process.returncode)
            field.fleet.forget(worker)
        if len(field.fleet.members) < MOST_WORKERS and field.rng.random() < 0.6:
            field.note("start", worker=field.fleet.start().log.stem)
        elif field.fleet.members:
            leaver = field.rng.choice(field.fleet.members)
            (field.fleet.kill if field.rng.random() < 0.5 else field.fleet.terminate)(leaver)
