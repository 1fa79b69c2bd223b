"""Workers die at random moments, alone or together; some are replaced at once, others after the survivors took over."""

from __future__ import annotations

from tests.drills.world.field import Field


def run(field: Field) -> None:
    field.start_workers(2)
    for _ in range(field.size.rounds):
        field.let_rides_pass(0, 2)
        victims = field.rng.sample(field.fleet.members, field.rng.randint(1, 2))
        for victim in victims:
            field.fleet.kill(victim)
        if field.fleet.members and field.rng.random() < 0.5:
            field.wait(field.fleet.own_all, "the survivors have all tasks")
        for _ in victims:
            field.fleet.start()
        if field.rng.random() < 0.5:
            field.wait(field.fleet.own_all, "the workers share all tasks")
