"""A worker that keeps warm copies takes over without reading the changelog again, and is no owner before."""

from __future__ import annotations

import re
from pathlib import Path

from app.base import names
from app.base.settings import Settings
from app.engine.drive.ownership.standby import EVERY_SECONDS
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import assert_exact, covers, log_ends_of, ready_worker, tasks_of, worker

ALL = [0, 1, 2, 3]
THREE_LOOKS_SECONDS = 3 * EVERY_SECONDS
"""A copy that every look made young again would never be so old."""
TRIPS = f"/v1/views/{VENDOR_TRIPS.name}/rows"


def test_tasks_of_a_killed_worker_go_on_from_the_copies(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 20_000)
    with ready_worker(world, tmp_path, "first", FLAGFALL_WORKER_SESSION_TIMEOUT_SECONDS=patient(9)) as first:
        wait_for(lambda: covers(world, first), "all rides are folded", [first])
        with worker(world, tmp_path, "second", FLAGFALL_WORKER_STANDBY=True) as second:
            both = [first, second]
            wait_for(lambda: _share(both), "the tasks are shared", both)
            others = tasks_of(first)
            wait_for(lambda: _have_all(world, second, others), "the copies are whole", both)
            assert not set(tasks_of(second)) & set(others)
            whole = second.get(TRIPS).json()["data"]
            first.kill()
            _assert_stale(second, others, whole)
            write_rides(world, 20_000, 2_000)
            wait_for(lambda: _age(second, others) >= THREE_LOOKS_SECONDS, "the copies grow old", [second])
            wait_for(lambda: tasks_of(second) == ALL, "the second has all tasks", [second])
            assert {task: _last_read(second)[task] for task in others} == dict.fromkeys(others, 0)
            write_rides(world, 22_000, 2_000)
            wait_for(lambda: covers(world, second), "the rides after that are folded", [second])
            assert_exact(world, [second])


def test_a_copy_follows_its_owner_while_rides_come_in(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 2_000)
    with (
        ready_worker(world, tmp_path, "first") as first,
        worker(world, tmp_path, "second", FLAGFALL_WORKER_STANDBY=True) as second,
    ):
        both = [first, second]
        wait_for(lambda: _share(both), "the tasks are shared", both)
        others = tasks_of(first)
        for begin in range(2_000, 8_000, 2_000):
            write_rides(world, begin, 2_000)
            wait_for(lambda: covers(world, first) or covers(world, second), "the rides are folded", both)
            wait_for(lambda: _have_all(world, second, others), "the copies follow", both)
        first.kill()
        wait_for(lambda: tasks_of(second) == ALL, "the second has all tasks", [second])
        assert_exact(world, [second])


def _assert_stale(survivor: Worker, others: list[int], whole: list[dict[str, object]]) -> None:
    """Before anybody else owns them, the copies have all rows for who takes old ones, and none for others."""
    answer = survivor.get(TRIPS, max_staleness="1m").json()
    assert [one["partition"] for one in answer["meta"]["stale"]] == others
    assert answer["data"] == whole
    assert survivor.get(TRIPS).status_code == 503


def _age(survivor: Worker, others: list[int]) -> float:
    """How old the youngest of these copies is said to be; 0 while not all of them answer."""
    answer = survivor.get(TRIPS, max_staleness="1m").json()
    stale = {one["partition"]: one["seconds"] for one in answer.get("meta", {}).get("stale", ())}
    return min(stale.get(task, 0) for task in others)


def _share(workers: list[Worker]) -> bool:
    parts = [tasks_of(one) for one in workers]
    return all(parts) and sorted(task for part in parts for task in part) == ALL


def _have_all(settings: Settings, started: Worker, tasks: list[int]) -> bool:
    """Whether the worker's copies, of these tasks and no others, stand at the ends of their logs; never beyond."""
    copied = _standby(started)
    ends = _ends(settings, tasks)
    assert all(copied[task] <= end for task, end in ends.items() if task in copied), (copied, ends)
    return copied.keys() == ends.keys() and all(copied[task] >= end for task, end in ends.items())


def _standby(started: Worker) -> dict[int, int]:
    told = started.get("/readyz").json()["groups"][RIDES.name]["standby"]
    return {int(task): next_offset for task, next_offset in told.items()}


def _ends(settings: Settings, tasks: list[int]) -> dict[int, int]:
    changelog = names.changelog_topic(settings.app_id, RIDES.name)
    return {p: end for (_, p), end in log_ends_of(settings, [changelog]).items() if p in tasks}


def _last_read(started: Worker) -> dict[int, int]:
    """How many changelog records each task's last take-over read."""
    told = re.findall(r"task (\d+): (\d+) changelog records read", started.log.read_text())
    return {int(task): int(count) for task, count in told}
