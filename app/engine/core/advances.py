"""Requests to raise a watermark without a record (rule 8): the owner takes each at its own position.

A request may name the offset before which it must not be taken: what was in the log when it was made is then folded
first, however far behind the task is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import orjson

from app.base import names
from app.domain.fold import Advance
from app.domain.marker import InputPosition, Marker
from app.domain.measures import INT64_MAX, INT64_MIN
from app.engine.core.batch import Batch, Output
from app.engine.core.definition import TaskDefinition


@dataclass
class Taken:
    """What requests did: raised positions, the records that say so, and indices of unreadable requests."""

    inputs: dict[str, InputPosition] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)


def take_requests(definition: TaskDefinition, marker: Marker, batch: Batch) -> Taken:
    """Raise the watermarks that are asked for; a request below the present watermark changes nothing.

    What is written names the offset from which it holds: the position at which this task took it, whatever
    the requester knew of it. So a recomputation applies it exactly there.
    """
    taken = Taken()
    for i, value in enumerate(batch.values):
        request = _read(value, batch, definition)
        if request is None:
            taken.refused.append(i)
            continue
        position = taken.inputs.get(request.topic, marker.inputs[request.topic])
        if request.watermark_us <= position.watermark_us:
            continue
        taken.inputs[request.topic] = replace(position, watermark_us=request.watermark_us)
        advance = Advance(request.topic, batch.partition, position.next_offset, request.watermark_us)
        taken.outputs.append(advance_output(definition.application, advance))
    return taken


def are_due(definition: TaskDefinition, marker: Marker, batch: Batch) -> bool:
    """Whether every readable request of the batch may be taken at the marker's position."""
    requests = (_read(value, batch, definition) for value in batch.values)
    return all(r is None or r.not_before_offset <= marker.inputs[r.topic].next_offset for r in requests)


def advance_output(application: str, advance: Advance) -> Output:
    """The record that says what was done: an input of every recomputation."""
    key = f"{advance.topic}-{advance.partition}".encode()
    return Output(names.advances_topic(application), key, orjson.dumps(advance._asdict()))


class _Request(NamedTuple):
    topic: str
    watermark_us: int
    not_before_offset: int


def _read(value: bytes | None, batch: Batch, definition: TaskDefinition) -> _Request | None:
    try:
        document = orjson.loads(value or b"")
        request = _Request(document["topic"], document["watermark_us"], document.get("not_before_offset", 0))
        here = document["partition"] == batch.partition and request.topic in definition.by_topic
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return None
    return request if here and _is_int64(request.watermark_us) and _is_int64(request.not_before_offset) else None


def _is_int64(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and INT64_MIN <= value <= INT64_MAX
