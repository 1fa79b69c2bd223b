"""Watermarks that no record can have brought: a release before rule 27 took any request to advance to one.

They are not obeyed: a task that has one stops in words, and what is counted again leaves such advances and marks out.
"""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.domain.errors import StateError
from app.domain.marker import Marker
from app.domain.view import View
from app.engine.core.definition import TaskDefinition


def has_impossible(definition: TaskDefinition, marker: Marker) -> list[str]:
    """The topics whose watermark in the marker is such a one."""
    known = ((topic, at, definition.by_topic.get(topic)) for topic, at in sorted(marker.inputs.items()))
    return [topic for topic, at, source in known if source is not None and not source.may_reach(at.watermark_us)]


def require_possible(definition: TaskDefinition, marker: Marker) -> None:
    """StateError if the task has judged by such a watermark: all that came after it was late."""
    for topic in has_impossible(definition, marker):
        raise StateError(
            f"{topic}-{marker.partition}: the state's watermark is {marker.inputs[topic].watermark_us} µs since 1970, "
            "which no record can have: an earlier release took a request to advance to it, and what came after was "
            "late. Stop the workers and run `flagfall rebuild`, which counts the log again without it"
        )


def is_possible(view: View, closed_to_us: int) -> bool:
    """Whether a task can have closed the view's windows so far."""
    return view.source.may_reach(closed_to_us)


def are_possible(view: View, closed_to_us: Int64s) -> Mask:
    """Whether each is; most of them are the same."""
    told, which = np.unique(closed_to_us, return_inverse=True)
    possible: Mask = np.array([is_possible(view, one) for one in told.tolist()], np.bool_)[which]
    return possible
