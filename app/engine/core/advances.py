"""Requests to raise a watermark without a record (rule 8): the owner takes each at its own position.

A request may name the offset before which it must not be taken: what was in the log when it was made is then folded
first, however far behind the task is. Where the log does not reach that far it is refused, and holds up nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from app.base import names
from app.codecs.stored.advance_requests import decode_request
from app.codecs.stored.advances import advance_bytes
from app.domain.advance import Advance, AdvanceRequest, refusal_of_request
from app.domain.marker import InputPosition, Marker
from app.domain.records import Reason
from app.engine.core.batch import Batch, Output
from app.engine.core.definition import TaskDefinition


class LogEnds(NamedTuple):
    """Where the logs of a task's records ended, asked when the requests below an offset had been written."""

    requests_below: int = 0
    by_topic: Mapping[str, int] = {}


@dataclass
class TakenAdvances:
    """What requests did: raised positions, the records that say so; (index, reason) of those that are refused."""

    inputs: dict[str, InputPosition] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)


def take_requests(definition: TaskDefinition, marker: Marker, batch: Batch, log_ends: LogEnds) -> TakenAdvances:
    """Raise the watermarks that are asked for; a request below the present watermark changes nothing.

    What is written names the offset from which it holds: the position at which this task took it, whatever
    the requester knew of it. So a recomputation applies it exactly there.
    """
    taken = TakenAdvances()
    for i, (_, request) in enumerate(_admitted(definition, batch, log_ends)):
        if isinstance(request, str):
            taken.refused.append((i, request))
            continue
        position = taken.inputs.get(request.topic, marker.inputs[request.topic])
        if request.watermark_us <= position.watermark_us:
            continue
        taken.inputs[request.topic] = replace(position, watermark_us=request.watermark_us)
        advance = Advance(request.topic, batch.partition, position.next_offset, request.watermark_us)
        taken.outputs.append(advance_output(definition.application, advance))
    return taken


def are_due(definition: TaskDefinition, marker: Marker, batch: Batch, log_ends: LogEnds) -> bool:
    """Whether every request of the batch may be taken at the marker's position, or is refused."""
    return next(_waiting(definition, marker, batch, log_ends), None) is None


def ask_for_log_ends(definition: TaskDefinition, marker: Marker, batch: Batch, log_ends: LogEnds) -> bool:
    """Whether some request waits for an offset, and came after the logs' ends had been asked for."""
    waiting = _waiting(definition, marker, batch, log_ends)
    return any(offset >= log_ends.requests_below for offset in waiting)


def advance_output(application: str, advance: Advance) -> Output:
    """The record that says what was done: an input of every recomputation."""
    key = f"{advance.topic}-{advance.partition}".encode()
    return Output(names.advances_topic(application), key, advance_bytes(advance))


def _waiting(definition: TaskDefinition, marker: Marker, batch: Batch, log_ends: LogEnds) -> Iterator[int]:
    """Offsets of the requests that must wait for records before them."""
    for offset, request in _admitted(definition, batch, log_ends):
        if isinstance(request, AdvanceRequest) and request.not_before_offset > marker.inputs[request.topic].next_offset:
            yield offset


def _admitted(
    definition: TaskDefinition, batch: Batch, log_ends: LogEnds
) -> Iterator[tuple[int, AdvanceRequest | str]]:
    """Each request's offset, and the request or the reason why it is refused."""
    for offset, value in zip(batch.offsets.tolist(), batch.values, strict=True):
        yield offset, _request_or_reason(definition, value, batch.partition, offset, log_ends)


def _request_or_reason(
    definition: TaskDefinition, value: bytes | None, partition: int, offset: int, log_ends: LogEnds
) -> AdvanceRequest | str:
    request = decode_request(value)
    if request is None:
        return str(Reason.UNDECODABLE)
    reason = refusal_of_request(request, definition.by_topic, partition)
    if reason is not None:
        return reason
    told = offset < log_ends.requests_below
    if told and request.not_before_offset > log_ends.by_topic[request.topic]:
        return str(Reason.UNREACHABLE_OFFSET)
    return request
