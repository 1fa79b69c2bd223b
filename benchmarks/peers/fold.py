"""What the Python peers share: the job, a ride's key and row, the fingerprint. Standard library and fastavro only."""

from __future__ import annotations

import io
import json
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro

FRAMING_BYTES = 5
KEY = struct.Struct(">qi")
ROW = struct.Struct(">12q")
NO_ZONE = -1
INT64_MIN = -(1 << 63)
EMPTY = (0, 0, 0, 0, 0, 0, 0, 0, INT64_MIN, 0, INT64_MIN, 0)
"""count, fingerprint, then value and number of values: fares, tips, distance; longest, dearest."""
LOW_32 = 0xFFFF_FFFF
ROUNDS = ((0x9E3779B9, 0x7F4A7C15), (0x85EBCA6B, 0x62B82175), (0xC2B2AE35, 0x5851F42D))


@dataclass(frozen=True)
class Job:
    """What to read, how far, and under which name."""

    bootstrap_server: str
    name: str
    topic: str
    topic_number: int
    ends: dict[int, int]
    pane_seconds: int
    grace_seconds: int
    schema: dict[str, Any]
    state_dir: str
    variant: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str) -> Job:
        told = json.loads(Path(path).read_text())
        ends = {int(partition): end for partition, end in told["ends"].items()}
        known = {name: told[name] for name in cls.__dataclass_fields__ if name in told}
        return cls(**known | {"ends": ends, "schema": fastavro.parse_schema(json.loads(told["schema"]))})

    @property
    def rides(self) -> int:
        return sum(self.ends.values())


def signal(name: str) -> None:
    """Tell the harness that something happened now: `first_record`, `last_commit`."""
    print(f"BENCH {name} {time.time():.6f}", flush=True)


class Fold:
    """A ride to the key of its row; keeps the watermark of each partition."""

    def __init__(self, job: Job) -> None:
        self._schema, self._number = job.schema, job.topic_number
        self._pane_us, self._grace_us = job.pane_seconds * 1_000_000, job.grace_seconds * 1_000_000
        self._watermarks: dict[int, int] = {}

    def key(self, partition: int, value: bytes) -> tuple[bytes | None, dict[str, Any]]:
        """The row's key and the ride; no key for a ride that is late."""
        stream = io.BytesIO(value)
        stream.seek(FRAMING_BYTES)
        ride: dict[str, Any] = fastavro.schemaless_reader(stream, self._schema, None)  # type: ignore[assignment]
        pickup_us, dropoff_us = ride["pickup_at_us"], ride["dropoff_at_us"]
        reported_us = pickup_us if dropoff_us is None else dropoff_us
        watermark_us = max(self._watermarks.get(partition, INT64_MIN), reported_us)
        self._watermarks[partition] = watermark_us
        start_us = pickup_us // self._pane_us * self._pane_us
        if start_us + self._pane_us + self._grace_us <= watermark_us:
            return None, ride
        zone = ride["pickup_zone"]
        return KEY.pack(start_us, NO_ZONE if zone is None else zone), ride

    def row(self, before: bytes | None, ride: dict[str, Any], partition: int, offset: int) -> bytes:
        """The row with one more ride; `before` is None for a new one."""
        cells = list(EMPTY if before is None else ROW.unpack(before))
        cells[0] += 1
        cells[1] = signed(cells[1] + mixed(self._number << 56 | partition << 44 | offset))
        fare, dropoff_us = ride["fare_cents"], ride["dropoff_at_us"]
        for at, value in ((2, fare), (4, ride["tip_cents"]), (6, ride["distance_hundredth_miles"])):
            if value is not None:
                cells[at] += value
                cells[at + 1] += 1
        duration = None if dropoff_us is None else dropoff_us - ride["pickup_at_us"]
        for at, value in ((8, duration), (10, fare)):
            if value is not None:
                cells[at] = max(cells[at], value)
                cells[at + 1] += 1
        return ROW.pack(*cells)


def mixed(packed: int) -> int:
    """A record's origin, mixed: three Feistel rounds on 32-bit halves."""
    left, right = packed >> 32, packed & LOW_32
    for xor, multiplier in ROUNDS:
        product = (right ^ xor) * multiplier
        left, right = right, left ^ ((product ^ (product >> 31)) & LOW_32)
    return left << 32 | right


def signed(number: int) -> int:
    """Wrapped into a signed 64-bit integer."""
    return ((number + (1 << 63)) & 0xFFFF_FFFF_FFFF_FFFF) - (1 << 63)
