"""Records of the simulated source, drawn at random: disorder, ties, nulls, stray stamps and damaged bytes.

Each knows what it says, or why it cannot be used: the truth that the worker is not told.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

from app.codecs.avro.schema import Schemas
from app.domain.records import Reason, Value
from app.domain.source import Source
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.encoding import encode, schema_of
from app.testkit.simulation.parcels import MINUTE_US, PARCELS, RECEIPTS
from app.testkit.simulation.sent_on import BROKEN, SIGNED, STUCK

SCHEMA_IDS = {PARCELS.name: 7, RECEIPTS.name: 8}
WRITTEN_IDS = {SIGNED.output.name: 9, BROKEN.output.name: 10, STUCK.output.name: 11}
"""Ids of the schemas of what joins and alerts write, by topic."""
UNKNOWN_ID = 99
SCHEMAS: Schemas = {
    **{SCHEMA_IDS[source.name]: schema_of(source, SCHEMA_IDS[source.name]) for source in (PARCELS, RECEIPTS)},
    UNKNOWN_ID: None,
}
START_US = 1_767_589_200_000_000
"""2026-01-05T05:00:00Z."""


def _damaged(schema_id: int, foreign_id: int) -> tuple[tuple[bytes | None, Reason], ...]:
    return (
        (None, Reason.NULL_VALUE),
        (b"", Reason.TOO_SHORT),
        (b"\x01\x00\x00\x00\x07abc", Reason.BAD_MAGIC),
        (_framed(UNKNOWN_ID, b"abcdef"), Reason.UNKNOWN_SCHEMA),
        (_framed(foreign_id, b"abcdef"), Reason.INCOMPATIBLE_SCHEMA),
        (_framed(schema_id, b"\x02"), Reason.UNDECODABLE),
    )


def _framed(schema_id: int, body: bytes) -> bytes:
    return struct.pack(">BI", 0, schema_id) + body


_DAMAGED = {
    PARCELS.name: _damaged(SCHEMA_IDS[PARCELS.name], SCHEMA_IDS[RECEIPTS.name]),
    RECEIPTS.name: _damaged(SCHEMA_IDS[RECEIPTS.name], SCHEMA_IDS[PARCELS.name]),
}
_DELAYS_MINUTES = (1, 9, 10, 11, 29, 30, 31, 90, 24 * 60)
_AHEAD_SECONDS = (0, 1, 599, 600, 601, 1200, 1201, 50 * 365 * 86_400)


@dataclass(frozen=True, slots=True)
class Sample:
    """A record as it is sent; `values` is what it says, `reason` why nobody can read it. One of them is None."""

    source: Source
    sent: SentRecord
    values: dict[str, Value] | None
    reason: Reason | None = None

    def __str__(self) -> str:
        said = self.values or {}
        told = {name: value for name, value in said.items() if value is not None} or str(self.reason)
        return f"{told} at {self.sent.timestamp_ms} ms"


def draw_sample(draws: random.Random, source: Source, clock_us: int) -> Sample:
    """One record of the producer's present time `clock_us`."""
    key = draws.choice((b"1", b"17", None))
    headers = draws.choice(((), (), (("trace", b"\xff\x00"),)))
    roll = draws.random()
    if roll < 0.04:
        value, reason = draws.choice(_DAMAGED[source.name])
        return Sample(source, SentRecord(key, value, headers, clock_us // 1000), None, reason)
    timestamp_ms = -1 if roll < 0.05 else clock_us // 1000
    reported_us = clock_us
    if roll > 0.9:
        reported_us += draws.choice(_AHEAD_SECONDS) * 1_000_000
    elif draws.random() < 0.4:
        reported_us -= draws.choice(_DELAYS_MINUTES) * MINUTE_US
    values = (_parcel if source is PARCELS else _receipt)(draws, reported_us)
    value = encode(source, SCHEMA_IDS[source.name], values)
    if roll > 0.98:
        return Sample(source, SentRecord(key, value + b"\x00", headers, timestamp_ms), None, Reason.TRAILING_BYTES)
    return Sample(source, SentRecord(key, value, headers, timestamp_ms), values)


def _parcel(draws: random.Random, reported_us: int) -> dict[str, Value]:
    delivered = draws.random() < 0.7
    scanned_us = reported_us - draws.choice((0, 1, 10, 40, 90)) * MINUTE_US if delivered else reported_us
    heavy = draws.random() < 0.02
    return {
        "parcel_id": _parcel_id(draws, reported_us),
        "hub": draws.choice((1, 2, 50, None)),
        "carrier": draws.choice(("", "dhl", "é", None)),
        "fragile": draws.choice((True, False, None)),
        "scanned_at_us": scanned_us,
        "delivered_at_us": reported_us if delivered else None,
        "weight_grams": 30_001 if heavy else draws.choice((-5, 0, 499, 500, 30_000, None)),
    }


def _receipt(draws: random.Random, reported_us: int) -> dict[str, Value]:
    known = draws.random() < 0.95
    return {
        "parcel_id": _parcel_id(draws, reported_us) if known else None,
        "signed_at_us": reported_us,
        "stars": draws.choice((1, 5, None, 5, 6 if draws.random() < 0.2 else 4)),
    }


def _parcel_id(draws: random.Random, reported_us: int) -> str:
    """Few ids, that go with time: both sides of the join often have the same, and they come back."""
    return f"p{(reported_us // (6 * MINUTE_US) + draws.choice((0, 0, 1))) % 12}"
