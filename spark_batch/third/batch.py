"""What Spark's checkpoint tells of a batch: what it reads, and what is late in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.domain.records import TopicPartition

MICROS_PER_MILLI = 1_000
StreamOffsets = Mapping[TopicPartition, int]
NO_BATCH = -1
"""The number before the first."""


@dataclass(frozen=True)
class ThirdBatch:
    """Records below `ends`, without those of batches before. `late_below_us`: what was in windows that end there or
    before is dropped; the watermark that the batch before had begun with, as Spark lets one batch go by."""

    number: int
    ends: StreamOffsets
    late_below_us: int


def read_batch(checkpoint: Path, number: int) -> ThirdBatch:
    """A batch that has begun."""
    _, ends = _told(checkpoint, number)
    before_ms = _told(checkpoint, number - 1)[0]["batchWatermarkMs"] if number else 0
    return ThirdBatch(number, _offsets(ends), before_ms * MICROS_PER_MILLI)


def last_begun(checkpoint: Path) -> int:
    """The last batch of which Spark knows what it reads, done or not; NO_BATCH where none is."""
    return _last_in(checkpoint / "offsets")


def last_done(checkpoint: Path) -> int:
    """The last batch that Spark counts as done; NO_BATCH where none is."""
    return _last_in(checkpoint / "commits")


def has_begun(checkpoint: Path) -> bool:
    """Whether it is told where the first batch begins."""
    return _starts_file(checkpoint).exists()


def read_ends(checkpoint: Path, number: int) -> StreamOffsets:
    """Up to where batches have read once that one is done, which has begun."""
    return _offsets(_told(checkpoint, number)[1])


def read_reached(checkpoint: Path) -> StreamOffsets:
    """Where the query goes on: behind the last batch that Spark counts as done. Empty where it has none to go on from,
    and what it reads of a topic-partition that was made later it reads from its beginning."""
    done = last_done(checkpoint)
    if done != NO_BATCH:
        return read_ends(checkpoint, done)
    return read_starts(checkpoint) if has_begun(checkpoint) else {}


def read_starts(checkpoint: Path) -> StreamOffsets:
    """Where the first batch begins. Those of topic-partitions that were made later are not among them: these are read
    from their beginning."""
    text = _starts_file(checkpoint).read_text()
    return _offsets(json.loads(text[text.index("{") :]))  # before it stand a byte and a version


def _starts_file(checkpoint: Path) -> Path:
    return checkpoint / "sources" / "0" / "0"


def _last_in(folder: Path) -> int:
    return max((int(file.name) for file in folder.glob("*") if file.name.isdigit()), default=NO_BATCH)


def _told(checkpoint: Path, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    _, metadata, offsets = (checkpoint / "offsets" / str(number)).read_text().splitlines()
    return json.loads(metadata), json.loads(offsets)


def _offsets(told: Mapping[str, Mapping[str, int]]) -> StreamOffsets:
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, of_topic in told.items()
        for partition, offset in of_topic.items()
    }
