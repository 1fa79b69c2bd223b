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


def read_reached(checkpoint: Path) -> StreamOffsets:
    """Where the query goes on: behind the last batch that Spark counts as done. Empty where it has none to go on from,
    and what it reads of a topic-partition that was made later it reads from its beginning."""
    done = [int(file.name) for file in (checkpoint / "commits").glob("*") if file.name.isdigit()]
    if done:
        return _offsets(_told(checkpoint, max(done))[1])
    return read_starts(checkpoint) if (checkpoint / "sources" / "0" / "0").exists() else {}


def read_starts(checkpoint: Path) -> StreamOffsets:
    """Where the first batch begins. Those of topic-partitions that were made later are not among them: these are read
    from their beginning."""
    text = (checkpoint / "sources" / "0" / "0").read_text()
    return _offsets(json.loads(text[text.index("{") :]))  # before it stand a byte and a version


def _told(checkpoint: Path, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    _, metadata, offsets = (checkpoint / "offsets" / str(number)).read_text().splitlines()
    return json.loads(metadata), json.loads(offsets)


def _offsets(told: Mapping[str, Mapping[str, int]]) -> StreamOffsets:
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, of_topic in told.items()
        for partition, offset in of_topic.items()
    }
