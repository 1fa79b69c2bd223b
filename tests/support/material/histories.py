"""Small made-up histories of a source's log: rides with nulls, ties, disorder, stray years and poison.

Deterministic from a seed; every value is a function of `random.Random(seed)`.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import fastavro
import numpy as np

from app.codecs.avro.schema import Schemas, WriterSchema
from app.domain.advance import Advance
from app.domain.records import Record, Value
from app.engine.core.batch import Batch
from app.rides.ride import HOUR_US, RIDE_COLUMNS, RIDES, avro_schema

SCHEMA = WriterSchema(7, json.dumps(avro_schema()))
UNKNOWN_ID = 99
SCHEMAS: Schemas = {SCHEMA.id: SCHEMA, UNKNOWN_ID: None}
START_US = 1_767_589_200_000_000
"""2026-01-05T05:00:00Z."""

POISON: tuple[bytes | None, ...] = (
    None,
    b"",
    b"\x00\x00",
    b"\x01\x00\x00\x00\x07abc",
    b"\x00\x00\x00\x00\x63abcdef",
    b"\x00\x00\x00\x00\x07\xff\xff\xff",
    b"\x00\x00\x00\x00\x07" + bytes(40),
)


@dataclass
class Log:
    """One topic-partition: offset -> (timestamp_ms, value); missing offsets are control records."""

    topic: str
    partition: int
    entries: list[tuple[int, int, bytes | None]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    poisoned: list[int] = field(default_factory=list)
    next_offset: int = 0

    def batch(self, base: int, until: int) -> Batch:
        """The records in `[base, until)` as a fetch would give them."""
        chosen = [e for e in self.entries if base <= e[0] < until]
        return Batch(
            topic=self.topic,
            partition=self.partition,
            base_offset=base,
            next_offset=until,
            offsets=np.array([e[0] for e in chosen], np.int64),
            timestamps_ms=np.array([e[1] for e in chosen], np.int64),
            keys=[b"k"] * len(chosen),
            values=[e[2] for e in chosen],
            headers=[()] * len(chosen),
        )


def random_log(rng: random.Random, topic: str, partition: int, count: int, *, start_us: int = START_US) -> Log:
    """`count` offsets of rides in rough order of drop-off, some of them odd in each way there is."""
    log = Log(topic, partition)
    clock_us = start_us
    for offset in range(count):
        clock_us += rng.randint(0, 20) * 60_000_000
        roll = rng.random()
        if roll < 0.04:
            continue
        if roll < 0.08:
            log.entries.append((offset, clock_us // 1000, rng.choice(POISON)))
            log.poisoned.append(offset)
            continue
        timestamp_ms = -1 if rng.random() < 0.01 else clock_us // 1000
        values = random_ride(rng, offset, clock_us)
        log.entries.append((offset, timestamp_ms, encode(values)))
        log.records.append(Record(topic, partition, offset, timestamp_ms, values))
    log.next_offset = count
    return log


def random_ride(rng: random.Random, number: int, clock_us: int) -> dict[str, Value]:
    """One ride as a record's values: often null, sometimes late, ahead of time or out of bounds."""
    values: dict[str, Value] = {column.name: None for column in RIDE_COLUMNS}
    dropoff_us = clock_us + rng.choice((0, 0, 0, 1, 599, 600, 601, -86_400, -4 * 3600, 50 * 365 * 86_400)) * 1_000_000
    pickup_us = dropoff_us - rng.choice((0, 60, 300, 601, 3599, 3600, 10_800, 90_000, -30)) * 1_000_000
    values |= {
        "ride_id": f"{number:032x}",
        "vendor": rng.choice(("1", "2", "HV0003", "é", None)),
        "pickup_at_us": pickup_us - pickup_us % rng.choice((1, 300_000_000)),
        "dropoff_at_us": rng.choice((dropoff_us, dropoff_us, dropoff_us, None)),
        "pickup_zone": rng.choice((1, 132, 265, None)),
        "passenger_count": rng.choice((0, 1, 255, None)),
        "fare_cents": rng.choice((-500, 0, 999, 1_000_000_000, None)),
        "tip_cents": rng.choice((0, 250, None)),
        "total_cents": rng.choice((-1_000_000_000, 1250, None)),
        "distance_hundredth_miles": rng.choice((0, 230, None)),
    }
    if rng.random() < 0.02:
        values[rng.choice(("fare_cents", "passenger_count", "pickup_zone"))] = 2_000_000_000
    return values


def random_advances(rng: random.Random, logs: Sequence[Log]) -> list[Advance]:
    """A few raised watermarks, at offsets of the logs."""
    return [
        Advance(log.topic, log.partition, rng.randint(0, log.next_offset), START_US + rng.randint(0, 48) * HOUR_US)
        for log in logs
        if rng.random() < 0.3
    ]


def encode(values: dict[str, Value]) -> bytes:
    """The ride in the Confluent framing."""
    out = io.BytesIO(SCHEMA.header)
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, SCHEMA.parsed, values)
    return out.getvalue()


def random_splits(rng: random.Random, length: int) -> Iterable[tuple[int, int]]:
    """Consecutive ranges that cover `[0, length)`, of random sizes."""
    at = 0
    while at < length:
        until = min(length, at + rng.choice((1, 2, 7, 50, 1000)))
        yield at, until
        at = until


TOPIC_NAMES = tuple(topic.name for topic in RIDES.topics)
