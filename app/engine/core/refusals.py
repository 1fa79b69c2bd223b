"""Records that a task refuses, as they go to the late and quarantine topics: their own bytes, and why."""

from __future__ import annotations

from collections.abc import Sequence

from app.base import names
from app.codecs.carrying import carried
from app.codecs.halves import StoredHalf
from app.codecs.origin_headers import JOIN, OFFSET, PARTITION, REASON, SIDE, TIMESTAMP_MS, TOPIC, VERSIONS, VIEWS
from app.domain.join import Join
from app.engine.core.batch import Batch, Headers, Output
from app.engine.core.definition import TaskDefinition


def quarantine_output(application: str, batch: Batch, index: int, reason: str) -> Output:
    """The record at `index`, unusable for `reason`."""
    return _output(names.quarantine_topic(application), batch, index, (REASON, reason.encode()))


def late_output(definition: TaskDefinition, batch: Batch, index: int, late_for: Sequence[str]) -> Output:
    """The record at `index`, too late for the views and joins named."""
    versions = [definition.version_of(name) for name in late_for]
    why = ((VIEWS, ",".join(late_for).encode()), (VERSIONS, ",".join(versions).encode()))
    return _output(names.late_topic(definition.application), batch, index, *why)


def unmatched_output(application: str, join: Join, partition: int, half: StoredHalf) -> Output:
    """A half that nobody met, as its record came."""
    waiting = half.waiting
    assert waiting is not None  # what has met does not leave
    topic = names.unmatched_topic(application)
    where = _where(join.half(half.side).topic, partition, half.offset, waiting.timestamp_ms)
    why = ((JOIN, join.name.encode()), (SIDE, half.side.encode()))
    return Output(topic, *carried(waiting.key, waiting.value, waiting.headers, (*where, *why)))


def _output(topic: str, batch: Batch, index: int, *why: tuple[str, bytes]) -> Output:
    where = _where(batch.topic, batch.partition, int(batch.offsets[index]), int(batch.timestamps_ms[index]))
    return Output(topic, *carried(batch.keys[index], batch.values[index], batch.headers[index], (*where, *why)))


def _where(topic: str, partition: int, offset: int, timestamp_ms: int) -> Headers:
    told = (topic, partition, offset, timestamp_ms)
    return tuple(zip((TOPIC, PARTITION, OFFSET, TIMESTAMP_MS), (str(t).encode() for t in told), strict=True))
