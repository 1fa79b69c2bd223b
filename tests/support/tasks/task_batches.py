"""Batches for a core of the rides, made by hand: rides, requests, and where they stand."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from app.codecs.batches.record_headers import Headers
from app.domain.records import Value
from app.engine.core.batch import Batch
from app.rides.ride import RIDE_COLUMNS
from tests.support.material.histories import (
    START_US,
    TOPIC_NAMES,
)

YELLOW, GREEN = TOPIC_NAMES[:2]

REQUESTS = "flagfall.rides.advance-requests"

PARTITION = 3


def ride(reported_us: int = START_US, **values: Value) -> dict[str, Value]:
    """A ride that took ten minutes."""
    told: dict[str, Value] = {column.name: None for column in RIDE_COLUMNS}
    told |= {"ride_id": "r", "vendor": "1", "pickup_zone": 132}
    return told | {"pickup_at_us": reported_us - 600_000_000, "dropoff_at_us": reported_us} | values


def batch_of(
    topic: str,
    values: Sequence[bytes | None],
    *,
    base: int = 0,
    timestamp_ms: int = START_US // 1000 + 10**9,
    keys: Sequence[bytes | None] = (),
    headers: Sequence[Headers] = (),
) -> Batch:
    """These values at consecutive offsets."""
    count = len(values)
    return Batch(
        topic=topic,
        partition=PARTITION,
        base_offset=base,
        next_offset=base + count,
        offsets=np.arange(base, base + count),
        timestamps_ms=np.full(count, timestamp_ms),
        keys=keys or [None] * count,
        values=values,
        headers=headers or [()] * count,
    )


def request(
    topic: str = YELLOW, watermark_us: object = START_US, partition: object = PARTITION, **more: object
) -> bytes:
    return json.dumps({"topic": topic, "partition": partition, "watermark_us": watermark_us, **more}).encode()
