"""Where a task stands: its position, watermark and lag of one commit, and its form between workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from app.domain.event_time import NO_WATERMARK
from app.edge.http.context import ServedGroup
from app.engine.core.building import build_progress
from app.engine.core.task_state import TaskState


@dataclass(frozen=True, slots=True)
class InputStanding:
    """How far a task had read one topic. `lag_records` is None where the log's end is not known."""

    next_offset: int
    watermark_us: int = NO_WATERMARK
    lag_records: int | None = None


@dataclass(frozen=True, slots=True)
class TaskStanding:
    """Of the topics of the group's sources, whether or not a view is over them.

    `building`: of each view that is being built, how many offsets it has read again, and how many there are.
    """

    partition: int
    sequence: int
    changelog_offset: int
    inputs: dict[str, InputStanding]
    building: dict[str, tuple[int, int]]


def standing_of(group: ServedGroup, task: TaskState) -> TaskStanding:
    """Of the task now. Awaits nothing: all of it is of one commit."""
    at, lag = task.marker.inputs, group.directory.lag_records
    inputs = {
        topic: InputStanding(at[topic].next_offset, at[topic].watermark_us, lag(topic, task.partition, at[topic]))
        for topic in group.topics
        if topic in at
    }
    building = build_progress(group.views, task.marker)
    return TaskStanding(task.partition, task.marker.sequence, task.marker_offset, inputs, building)


def encode_standings(standings: Iterable[TaskStanding]) -> bytes:
    """As one worker tells them to another."""
    return orjson.dumps(list(standings))


def decode_standings(body: bytes) -> list[TaskStanding]:
    """Inverse of `encode_standings`; ValueError, KeyError or TypeError if it is something else."""
    return [_read(**told) for told in orjson.loads(body)]


def _read(inputs: dict[str, dict[str, Any]], building: dict[str, list[int]], **told: Any) -> TaskStanding:
    read = {topic: InputStanding(**state) for topic, state in inputs.items()}
    return TaskStanding(inputs=read, building={view: (done, of) for view, (done, of) in building.items()}, **told)
