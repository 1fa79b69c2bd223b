"""The changelog is compacted under the workers, whatever protects it; then all start cold from what is left."""

from __future__ import annotations

from app.topics import topics
from tests.drills.world.field import Field
from tests.drills.world.observed import Observed

AT_ONCE = {
    "min_compaction_lag_ms": 0,
    "delete_retention_ms": 0,
    "segment_ms": 500,
    "min_cleanable_dirty_ratio": 0.01,
}


def run(field: Field) -> None:
    field.start_workers(2)
    field.let_rides_pass(1, 3)
    as_declared = next(one for one in topics(field.settings) if one.name == field.changelog).settings
    field.alter(field.changelog, **AT_ONCE)
    field.wait(lambda: _has_lost_markers(field), "the log cleaner has removed markers of every task")
    field.note("compacted")
    for worker in list(field.fleet.members):
        field.fleet.kill(worker)
    changed = {name: as_declared[name.replace("_", ".")] for name in AT_ONCE if name.replace("_", ".") in as_declared}
    field.alter(field.changelog, **changed)  # workers refuse a changelog that is not as declared
    for _ in range(2):
        field.fleet.start()
    field.wait(field.fleet.own_all, "the workers have recovered from what is left")
    field.let_rides_pass(0, 2)


def _has_lost_markers(field: Field) -> bool:
    markers = Observed(field.settings, field.fleet, field.changelog).markers
    return all(history and len(history) < history[-1].sequence for history in markers.values())
