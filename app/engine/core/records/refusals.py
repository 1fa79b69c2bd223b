"""Records that a task refuses, as they go to the late and quarantine topics: their own bytes, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from app.base import names
from app.codecs.batches.carrying import carried
from app.codecs.batches.origin_headers import JOIN, REASON, SIDE, VERSIONS, VIEWS, stood
from app.codecs.stored.halves import Halves, headers_from_json
from app.domain.pairs.join import Join, Side
from app.domain.records import Place
from app.engine.core.batch import Batch, MadeOutputs, Output
from app.engine.core.definition import TaskDefinition
from app.engine.core.draft import Draft
from app.engine.core.task_state import RefusalsCounted


def quarantine(draft: Draft, batch: Batch, reasons: Sequence[tuple[int, str]]) -> None:
    """Records of a batch by index, each unusable for its reason."""
    if reasons:
        topic = names.quarantine_topic(draft.application)
        draft.send(MadeOutputs(len(reasons), lambda nth: _unusable(topic, batch, *reasons[nth])))
        draft.effects.append(RefusalsCounted(batch.topic, Counter(reason for _, reason in reasons)))


def late_output(definition: TaskDefinition, batch: Batch, index: int, late_for: Sequence[str]) -> Output:
    """The record at `index`, too late for the views and joins named."""
    versions = [definition.version_of(name) for name in late_for]
    why = ((VIEWS, ",".join(late_for).encode()), (VERSIONS, ",".join(versions).encode()))
    return _output(names.late_topic(definition.application), batch, index, *why)


def unmatched_output(application: str, join: Join, side: Side, place: Place, halves: Halves, nth: int) -> Output:
    """A half that nobody met, as its record came."""
    where = stood(place, int(halves.timestamps_ms[nth]))
    why = ((JOIN, join.name.encode()), (SIDE, side.encode()))
    came_with = headers_from_json(halves.headers[nth])
    topic = names.unmatched_topic(application)
    return Output(topic, *carried(halves.keys[nth], halves.values[nth], came_with, (*where, *why)))


def _unusable(topic: str, batch: Batch, index: int, reason: str) -> Output:
    return _output(topic, batch, index, (REASON, reason.encode()))


def _output(topic: str, batch: Batch, index: int, *why: tuple[str, bytes]) -> Output:
    place = Place(batch.topic, batch.partition, batch.offsets[index])
    ours = (*stood(place, batch.timestamps_ms[index]), *why)
    return Output(topic, *carried(batch.keys[index], batch.values[index], batch.headers[index], ours))
