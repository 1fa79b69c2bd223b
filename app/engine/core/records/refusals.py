"""Records that a task refuses, as they go to the late and quarantine topics: their own bytes, and why."""

from __future__ import annotations

from collections.abc import Sequence

from app.base import names
from app.codecs.batches.carrying import carried
from app.codecs.batches.origin_headers import JOIN, REASON, SIDE, VERSIONS, VIEWS, stood
from app.codecs.stored.halves import StoredHalf
from app.domain.pairs.join import Join
from app.domain.records import Place
from app.engine.core.batch import Batch, MadeOutputs, Output
from app.engine.core.definition import TaskDefinition


def quarantine_output(application: str, batch: Batch, index: int, reason: str) -> Output:
    """The record at `index`, unusable for `reason`."""
    return _output(names.quarantine_topic(application), batch, index, (REASON, reason.encode()))


def quarantine_outputs(application: str, batch: Batch, reasons: Sequence[tuple[int, str]]) -> MadeOutputs:
    """Records of a batch by index, each unusable for its reason."""
    return MadeOutputs(len(reasons), lambda nth: quarantine_output(application, batch, *reasons[nth]))


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
    where = stood(Place(join.half(half.side).topic, partition, half.offset), waiting.timestamp_ms)
    why = ((JOIN, join.name.encode()), (SIDE, half.side.encode()))
    return Output(topic, *carried(waiting.key, waiting.value, waiting.headers, (*where, *why)))


def _output(topic: str, batch: Batch, index: int, *why: tuple[str, bytes]) -> Output:
    place = Place(batch.topic, batch.partition, batch.offsets[index])
    ours = (*stood(place, batch.timestamps_ms[index]), *why)
    return Output(topic, *carried(batch.keys[index], batch.values[index], batch.headers[index], ours))
