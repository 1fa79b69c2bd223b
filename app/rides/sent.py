"""Frames into topics: encoded and sent block by block, and what has been sent so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from app.base.kafka.producer import Producer
from app.rides.pace import Pace

BLOCK_RECORDS = 20_000


class Encoded(NamedTuple):
    """Records of one topic, as they are sent."""

    topic: str
    values: Sequence[bytes]
    keys: Sequence[bytes | None]
    timestamps_ms: Sequence[int]


@dataclass
class SentSoFar:
    """What a run has sent so far, by topic. `latest_clock_ms` is the highest Kafka timestamp, None before any."""

    records: Counter[str] = field(default_factory=Counter)
    latest_clock_ms: int | None = None

    @property
    def total(self) -> int:
        return self.records.total()


def send_frames(
    producer: Producer,
    frames: Iterable[pl.DataFrame],
    pace: Pace,
    encoded: Callable[[pl.DataFrame], Iterable[Encoded]],
    tell: Callable[[SentSoFar], Any],
) -> SentSoFar:
    """Send all of the frames (with `clock_ms`, rising) and wait until every record is confirmed.

    `encoded` gives a block's records by topic. `tell` is called after each block. Raises DeliveryFailed.
    """
    sent = SentSoFar()
    for frame in frames:
        for part in pace.parts(frame):
            for block in part.iter_slices(BLOCK_RECORDS):
                for topic, values, keys, timestamps_ms in encoded(block):
                    producer.send(topic, values, keys, timestamps_ms)
                    sent.records[topic] += len(values)
                if not block.is_empty():
                    sent.latest_clock_ms = max(sent.latest_clock_ms or 0, int(block["clock_ms"][-1]))
                tell(sent)
    producer.finish()
    return sent
