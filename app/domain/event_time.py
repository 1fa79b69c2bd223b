"""Event time: watermarks and skew (rule 6). No wall clock anywhere.

Times are microseconds since the epoch, UTC.
"""

from __future__ import annotations

NO_WATERMARK = -(1 << 63)
"""Watermark of a topic-partition in which no record was seen."""
EARLIEST_US, LATEST_US = -5_364_662_400_000_000, 10_413_792_000_000_000
"""1800 and 2300, between which a table of boundaries may lie: hours of five centuries are 35 MB."""
YEAR_2000_US, YEAR_2100_US = 946_684_800_000_000, 4_102_444_800_000_000
"""Between them lie the instants of columns that say nothing else."""


def is_skewed(reported_at_us: int, kafka_timestamp_ms: int, skew_seconds: int) -> bool:
    """Whether a record is stamped too far ahead of its own Kafka timestamp; one exactly at the bound is not."""
    return reported_at_us > kafka_timestamp_ms * 1000 + skew_seconds * 1_000_000
