"""Tables are exact after kill -9: equal to a plain fold of the topics, in the workers and in the changelog."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from app.base.settings import Settings
from app.rides.ride import RIDES
from app.rides.views import VIEWS
from tests.support.cluster import fresh_topics, write_rides
from tests.support.flow import by_task, covers_all, exported, in_changelog
from tests.support.truth import folded, records_of
from tests.support.workers import Worker, wait_for, workers

pytestmark = pytest.mark.timeout(180)

SEED = 20_260_105


def test_two_workers_share_the_tasks_and_one_kill_minus_nine_changes_no_figure(
    services: Settings, tmp_path: Path
) -> None:
    fresh_topics(services)
    rng = random.Random(SEED)
    write_rides(services, 0, 4_000)
    with workers(services, tmp_path, 2) as started:
        for step in range(4):
            victim = rng.randrange(2)
            write_rides(services, 4_000 * (step + 1), 4_000)
            started[victim].kill()  # while the rides just written are under way
            survivor = started[1 - victim]
            wait_for(survivor.is_ready, "the other worker answers again", started)
            started[victim] = Worker(services, tmp_path / f"again-{step}.log")
            if step % 2:
                wait_for(started[victim].is_ready, "the new worker answers", started)
        wait_for(lambda: covers_all(services, started), "every ride is covered", started, seconds=90)
        records = records_of(services, RIDES)
        assert len(records) >= 20_000
        for view in VIEWS:
            _, expected = folded(view, records)
            assert exported(view, started) == by_task(view, records)
            assert in_changelog(services, view) == by_task(view, records)
            assert expected
