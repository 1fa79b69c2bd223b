"""More partitions, and so more tasks, while no worker runs (rule 17; `docs/decisions/0040`).

The tasks that are there are told first, and keep their closing partitions: what waits in one to become a final, and
the finals that are remembered, stay where they are. A new task begins where the finals stand: what a window that was
published could still get from it would publish the window twice. So its watermarks are raised to the lowest of all
others, as an advance that every recomputation obeys, and what had been closed by another grace stays closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.domain.advance import Advance
from app.domain.errors import StateError
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import InputPosition, Marker, ViewPosition, former_key
from app.engine.core.advances import advance_output
from app.engine.core.batch import Output, Transaction
from app.engine.core.begun import begun_outputs
from app.engine.core.called_now import as_called_now
from app.engine.core.completing import begun_left, empty_marker
from app.engine.core.definition import TaskDefinition
from app.engine.core.mending.stored_marker import marker_transaction


def is_wide(definition: TaskDefinition, markers: Mapping[int, Marker]) -> bool:
    """Whether the tasks with these markers, by partition, know how many they are, and nothing is left to be done.

    Markers of an earlier release, which tell nothing, are believed.
    """
    told = markers.values()
    if any(marker.tasks not in (0, definition.task_count) for marker in told):
        return False
    return len(markers) == definition.task_count or all(one.closing_partitions == one.tasks for one in told)


def tell_count(definition: TaskDefinition, marker: Marker) -> Transaction | None:
    """A task that is there learns how many there will be; None if it knows.

    StateError if it does not tell how many there were, or if there were more.
    """
    if marker.tasks == definition.task_count:
        return None
    if not marker.tasks:
        raise StateError(
            f"task {marker.partition} of {definition.name} was last held by an earlier release, which did not note how "
            "many tasks there are. Start a worker of this one with FLAGFALL_TOPICS_PARTITIONS as it was, wait until it "
            "is ready, stop it, and try again"
        )
    if marker.tasks > definition.task_count:
        raise StateError(
            f"task {marker.partition} of {definition.name} is one of {marker.tasks}, more than the "
            f"{definition.task_count} that are wanted: Kafka takes no partition back. Set "
            f"FLAGFALL_TOPICS_PARTITIONS to {marker.tasks} or more"
        )
    return marker_transaction(definition, replace(marker, tasks=definition.task_count))


def begin(
    definition: TaskDefinition,
    partition: int,
    inputs: Mapping[str, InputPosition],
    others: Sequence[Marker],
    changelog_id: str,
) -> Transaction:
    """The first marker of a task that is new; `inputs` name where its topics begin, `others` are the tasks that were.

    `others` may hold new ones that have begun: whoever broke off goes on.
    """
    closing_partitions = max((one.closing_partitions for one in others), default=definition.task_count)
    if not {one.partition for one in others} >= set(range(closing_partitions)):
        others = ()  # one of them has never closed a window: nothing was published
    others = [as_called_now(definition, one) for one in others]
    at = dict(inputs)
    for topic in definition.by_topic:
        at[topic] = replace(inputs[topic], watermark_us=_lowest(others, topic))
    marker = empty_marker(definition, partition, at)
    closed = _closed_by_all(others)
    views = {name: _closed_alike(marker, position, closed) for name, position in marker.views.items()}
    views |= {name: _closed_alike(marker, position, closed) for name, position in _left(definition, marker, others)}
    of_others = {key: to_us for key, to_us in closed.items() if key not in {_key(view) for view in views.values()}}
    marker = replace(marker, views=views, closed_before=of_others)
    marker = replace(marker, closing_partitions=closing_partitions, changelog_id=changelog_id)
    return marker_transaction(definition, marker, [*_advances(definition, marker), *begun_outputs(definition, marker)])


def _lowest(others: Sequence[Marker], topic: str) -> int:
    known = (one.inputs.get(topic) for one in others)
    return min((NO_WATERMARK if at is None else at.watermark_us for at in known), default=NO_WATERMARK)


def _advances(definition: TaskDefinition, marker: Marker) -> list[Output]:
    positions = ((topic, marker.inputs[topic]) for topic in definition.by_topic)
    return [
        advance_output(definition.application, Advance(topic, marker.partition, at.next_offset, at.watermark_us))
        for topic, at in positions
        if at.watermark_us != NO_WATERMARK
    ]


def _closed_by_all(others: Sequence[Marker]) -> dict[str, int]:
    """To where all of them have closed a view, by what tells views apart; those that one has closed nothing of are
    not told."""
    told = [_closed(one) for one in others]
    keys = set[str]().union(*told)
    return {key: min(one[key] for one in told) for key in keys if all(key in one for one in told)}


def _closed(marker: Marker) -> dict[str, int]:
    """To where the task has closed each view, by sending rows, or by never having had any: the floor it began with."""
    closed = dict(marker.closed_before)
    for position in marker.views.values():
        floor_us = min((epochs[-1].floor_us for epochs in position.graces.values()), default=NO_WATERMARK)
        to_us = max(floor_us, NO_WATERMARK if position.closed_to_us is None else position.closed_to_us)
        if to_us != NO_WATERMARK:
            closed[_key(position)] = to_us
    return closed


def _left(definition: TaskDefinition, marker: Marker, others: Sequence[Marker]) -> Iterator[tuple[str, ViewPosition]]:
    """Views that others hold and this release does not declare, as they begin here when another one does."""
    declared = {_key(position) for position in marker.views.values()}
    known = {_key(position): position for one in others for position in one.views.values()}
    for key, position in known.items():
        if key not in declared and position.start.keys() <= marker.inputs.keys():
            yield key, begun_left(position, marker.inputs, definition.closings)


def _closed_alike(marker: Marker, begun: ViewPosition, closed: Mapping[str, int]) -> ViewPosition:
    """What all others had closed is closed here, by whatever grace they closed it."""
    to_us, graces = closed.get(_key(begun), NO_WATERMARK), dict(begun.graces)
    for topic, epochs in begun.graces.items():
        if epochs[-1].closed_to_us(marker.inputs[topic].watermark_us) < to_us:
            graces[topic] = (replace(epochs[-1], floor_us=to_us),)
    return replace(begun, graces=graces)


def _key(position: ViewPosition) -> str:
    return former_key(position.number, position.version)
