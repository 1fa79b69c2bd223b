"""Tables are exact after kill -9: equal to a plain fold of the topics, in the workers and in the changelog."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from app.base.settings import Settings
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker, workers
from tests.support.machine.world import assert_exact, covers, seconds_until, tasks_of

SEED = 20_260_105
ALL_TASKS = [0, 1, 2, 3]


def test_two_workers_share_the_tasks_and_kill_minus_nine_changes_no_figure(
    world: Settings, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(SEED)
    write_rides(world, 0, 3_000)
    with workers(world, tmp_path, 2) as started:
        for step in range(3):
            victim = rng.randrange(2)
            survivor = started[1 - victim]
            write_rides(world, 3_000 * (step + 1), 3_000)
            started[victim].kill()  # while the rides just written are under way
            seconds = seconds_until(
                lambda one=survivor: tasks_of(one) == ALL_TASKS and covers(world, one),  # type: ignore[misc]
                "the other worker has all tasks, and covers all rides",
                started,
            )
            record_property(f"seconds_from_kill_{step}_to_all_covered", round(seconds, 2))
            started[victim] = Worker(world, tmp_path / f"again-{step}.log")
            if step % 2:
                wait_for(started[victim].is_ready, "the new worker answers", started)
        wait_for(lambda: all(covers(world, one) for one in started), "every ride is covered", started)
        assert_exact(world, started)
