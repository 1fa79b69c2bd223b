"""Records that a task refuses, as they go to the late and quarantine topics: original bytes, and why."""

from __future__ import annotations

from collections.abc import Sequence

from app.base import names
from app.engine.batch import Batch, Headers, Output

TOPIC, PARTITION, OFFSET = "flagfall-topic", "flagfall-partition", "flagfall-offset"
TIMESTAMP_MS, REASON, VIEWS = "flagfall-timestamp-ms", "flagfall-reason", "flagfall-views"


def quarantine_output(application: str, batch: Batch, index: int, reason: str) -> Output:
    """The record at `index`, unusable for `reason`."""
    return _output(names.quarantine_topic(application), batch, index, (REASON, reason.encode()))


def late_output(application: str, batch: Batch, index: int, views: Sequence[str]) -> Output:
    """The record at `index`, too late for the views named."""
    return _output(names.late_topic(application), batch, index, (VIEWS, ",".join(views).encode()))


def _output(topic: str, batch: Batch, index: int, why: tuple[str, bytes]) -> Output:
    where: Headers = (
        (TOPIC, batch.topic.encode()),
        (PARTITION, str(batch.partition).encode()),
        (OFFSET, str(int(batch.offsets[index])).encode()),
        (TIMESTAMP_MS, str(int(batch.timestamps_ms[index])).encode()),
        why,
    )
    return Output(topic, batch.keys[index], batch.values[index], (*batch.headers[index], *where))
