"""Epochs that tasks tell of, against the rules of their releases and what the windows' own watermarks had closed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from app.domain.event_time import NO_WATERMARK
from app.domain.marker import LIVE, InputPosition, Marker, ViewPosition
from app.domain.rules.epochs import SkewEpoch
from app.domain.view import View
from app.engine.core.task_state import TaskState
from app.testkit.checks.expected import Expected


def epoch_problems(expected: Expected, state: TaskState) -> Iterator[str]:
    """The last epochs are the rules of the worker that has the task; each floor is what its predecessors closed."""
    for held in state.views.values():
        view = held.view
        for topic in (topic.name for topic in view.source.topics):
            skews = state.marker.inputs[topic].skews
            if not skews or not skews[-1].judges_as(SkewEpoch.declared(view.source)):
                yield f"{topic} is held to {skews}, not to {SkewEpoch.declared(view.source)}"
            if view.window.ends:
                yield from (f"view {view.name}, {topic}: {wrong}" for wrong in _grace_problems(expected, view, topic))


def _grace_problems(expected: Expected, view: View, topic: str) -> Iterator[str]:
    epochs = expected.marker.views[view.name].graces.get(topic, ())
    # one that was added later begins where the finals of the others stand
    was_added = expected.marker.partition >= expected.marker.closing_partitions
    begins_closed = bool(epochs) and epochs[0].floor_us != NO_WATERMARK
    if not epochs or epochs[-1].grace_seconds != view.grace_seconds or (begins_closed and not was_added):
        yield f"epochs are {epochs}, the grace is {view.grace_seconds} s"
    for before, after in pairwise(epochs):
        reached = expected.watermarks_us(topic, after.from_offset)
        closed = {before.closed_to_us(watermark_us) for watermark_us in reached}
        if after.floor_us not in closed or after.from_offset < before.from_offset:
            yield f"{after} follows {before}, at which {closed} was closed"


def changed_epoch_problems(before: Marker, after: Marker) -> Iterator[str]:
    """Of two markers that follow each other: no epoch is forgotten, and new ones begin where the first one stood."""
    for topic, position in before.inputs.items():
        told = after.inputs[topic].skews
        if told[: len(position.skews)] != position.skews:
            yield f"{topic}: skews {position.skews} became {told}"
        elif any(epoch.from_offset != position.next_offset for epoch in told[len(position.skews) :]):
            yield f"{topic}: skews {told}, which began at {position.next_offset}"
    now = {view.version: view for view in after.views.values()}
    for name, view in before.views.items():
        if view.version not in now:
            yield f"view {name}: nothing is told of {view.version} any more"
            continue
        for topic, epochs in view.graces.items():
            later = now[view.version].graces.get(topic, ())
            if later[: len(epochs)] != epochs:
                yield f"view {name}, {topic}: graces {epochs} became {later}"
            elif any(e.from_offset != _stood_at(view, before.inputs[topic], topic) for e in later[len(epochs) :]):
                yield f"view {name}, {topic}: graces {later}, the view stood at {view} of {before.inputs[topic]}"


def _stood_at(view: ViewPosition, read: InputPosition, topic: str) -> int:
    """How far the view had judged a topic."""
    if view.state != LIVE and topic in view.built:
        return view.built[topic].next_offset
    return read.next_offset
