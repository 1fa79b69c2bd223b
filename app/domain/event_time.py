"""Event time: watermarks and skew (rule 6). No wall clock anywhere.

Times are microseconds since the epoch, UTC.
"""

from __future__ import annotations

NO_WATERMARK = -(1 << 63)
"""Watermark of a topic-partition in which no record was seen."""


def is_skewed(reported_at_us: int, kafka_timestamp_ms: int, skew_seconds: int) -> bool:
    """Whether a record is stamped too far ahead of its own Kafka timestamp; one exactly at the bound is not."""
    return reported_at_us > kafka_timestamp_ms * 1000 + skew_seconds * 1_000_000
