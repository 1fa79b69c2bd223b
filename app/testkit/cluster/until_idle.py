"""Simulated tasks, run until none of them has anything to do."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.errors import FlagfallError
from app.testkit.cluster.simulated_task import SimulatedTask

MOST_ROUNDS = 100_000


class Stuck(FlagfallError):
    """Tasks that always find something more to do."""


def run_until_idle(tasks: Sequence[SimulatedTask]) -> None:
    """Let tasks of one broker go on, in turn, until none has anything to do; Stuck if that does not end.

    One may have work for another. What was committed can be read when this returns.
    """
    idle, rounds = 0, 0
    while idle < 2:
        for task in tasks:
            task.step()
            while task.broker.mark_one(task.transactional_id):
                pass
        idle = idle + 1 if all(task.is_idle for task in tasks) else 0
        rounds += 1
        if rounds > MOST_ROUNDS:
            raise Stuck(f"{len(tasks)} tasks are not done after {rounds} calls each")
