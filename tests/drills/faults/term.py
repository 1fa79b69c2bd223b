"""A worker that is told to stop under load drains, ends with 0, and leaves the next owner nothing to read again."""

from __future__ import annotations

import time

from tests.drills.drill import DrillBroken
from tests.drills.world.field import Field
from tests.drills.world.fleet import has_ended
from tests.support.machine.world import committed_offsets, next_offsets


def run(field: Field) -> None:
    field.start_workers(1)
    for _ in range(field.size.rounds):
        field.let_rides_pass(1, 3)
        (worker,) = field.fleet.members
        began = time.monotonic()
        field.fleet.terminate(worker)
        field.wait(lambda one=worker: has_ended(one), "the worker ends")  # type: ignore[misc]
        field.note("ended", code=worker.process.returncode, after_seconds=round(time.monotonic() - began, 2))
        if worker.process.returncode != 0:
            raise DrillBroken(f"{worker.log.stem} ended with {worker.process.returncode} when told to stop")
        field.fleet.forget(worker)
        _nothing_to_read_again(field)
        field.fleet.start()
        field.wait(field.fleet.own_all, "the next worker has all tasks")


def _nothing_to_read_again(field: Field) -> None:
    """What the group has committed is where the markers stand."""
    stand, committed = next_offsets(field.settings), committed_offsets(field.settings)
    behind = {place: (offset, stand.get(place)) for place, offset in committed.items() if stand.get(place) != offset}
    if behind or not committed:
        raise DrillBroken(f"committed offsets and markers differ, as (committed, marker): {behind}")
