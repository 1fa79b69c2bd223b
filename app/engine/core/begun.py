"""What a task has begun as: in which changelog, so that one that is made anew under it is noticed (rule 4), and as one
of how many tasks.

Markers tell both. A changelog that was emptied has none, so `<app>.begun` tells of it, too: in the transaction of the
first marker that names it.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from app.base import names
from app.domain.errors import StateError
from app.domain.marker import Marker
from app.domain.records import TopicPartition
from app.engine.core.batch import Batch, Output
from app.engine.core.definition import TaskDefinition


def begun_outputs(definition: TaskDefinition, marker: Marker) -> list[Output]:
    """What is told of the changelog that the marker names; nothing if it names none."""
    if not marker.changelog_id:
        return []
    topic = names.begun_topic(definition.application)
    value = orjson.dumps({"changelog_id": marker.changelog_id})
    return [Output(topic, _key(_place(definition, marker.partition)), value, partition=marker.partition)]


def begun_in(definition: TaskDefinition, batch: Batch) -> str | None:
    """The id that this part of the task's partition of `<app>.begun` tells of last; None if it does not. StateError."""
    key = _key(_place(definition, batch.partition))
    told = [
        at for at, (its_key, value) in enumerate(zip(batch.keys, batch.values, strict=True)) if its_key == key and value
    ]
    return _changelog_id(batch, told[-1]) if told else None


def _changelog_id(batch: Batch, at: int) -> str:
    try:
        told = orjson.loads(batch.values[at] or b"")
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict) or not isinstance(told.get("changelog_id"), str):
        raise StateError(
            f"{batch.topic}-{batch.partition}: what stands at offset {batch.offsets[at]} was written by no task "
            f"({batch.values[at]!r:.100}), so it cannot be told whether this one had begun. Delete the topic if the "
            "application never had a record, or use another FLAGFALL_APP_ID"
        )
    return str(told["changelog_id"])


def require_same(definition: TaskDefinition, partition: int, marker: Marker | None, begun: str, now: str) -> None:
    """StateError unless the changelog, whose id is `now` and whose last marker is given, is the task's from the first.

    `begun`: what `<app>.begun` tells, "" for nothing. A marker of before layout 6 is believed.
    """
    was = begun if marker is None else marker.changelog_id
    if not was or (marker is not None and was == now):
        return
    raise changelog_anew(_place(definition, partition), now, was)


def require_same_count(definition: TaskDefinition, marker: Marker) -> None:
    """StateError unless the marker's task was one of as many tasks as there are now. Before layout 7 it is believed."""
    now = definition.task_count
    if marker.tasks in (0, now) or not now:
        return
    how = "partitions were added" if marker.tasks < now else "partitions seem to be gone"
    raise StateError(
        f"task {marker.partition} of {definition.name} is one of {marker.tasks}, and {now} are wanted: {how}. Stop all "
        "workers and run `flagfall widen`, which sees to it that no window is published twice; or set "
        f"FLAGFALL_TOPICS_PARTITIONS to {marker.tasks}, if the topics still have so many"
    )


def require_first(definition: TaskDefinition, others: Iterable[Marker]) -> None:
    """StateError unless a task without a marker may begin by itself beside these: all are of as many tasks, and never
    were of fewer."""
    for marker in others:
        require_same_count(definition, marker)
        if marker.closing_partitions != marker.tasks:
            raise StateError(
                f"partitions were added to {definition.name}, and not all tasks have begun since: `flagfall widen` was "
                "broken off. Stop all workers and run it again"
            )


def changelog_anew(place: TopicPartition, now: str, was: str) -> StateError:
    """What a task had stored is gone."""
    how = "holds no marker any more" if now == was else f"was created anew (id {now}, the task's was {was})"
    return StateError(
        f"{place}: the changelog {how}: what the task had stored is gone, and nothing that is left tells all of it. "
        "Stop the workers and use another FLAGFALL_APP_ID, which begins where the topics do"
    )


def _place(definition: TaskDefinition, partition: int) -> TopicPartition:
    return TopicPartition(names.changelog_topic(definition.application, definition.name), partition)


def _key(place: TopicPartition) -> bytes:
    return str(place).encode()
