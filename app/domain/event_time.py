"""Event time: windows, watermarks, lateness (rules 6 and 7). No wall clock anywhere.

Times are microseconds since the epoch, UTC; windows are half-open, `[start, end)`.
"""

from __future__ import annotations

from app.domain.view import View

NO_WATERMARK = -(1 << 63)
"""Watermark of a topic-partition in which no record was seen."""


def is_skewed(reported_at_us: int, kafka_timestamp_ms: int, skew_seconds: int) -> bool:
    """Whether a record is stamped too far ahead of its own Kafka timestamp; one exactly at the bound is not."""
    return reported_at_us > kafka_timestamp_ms * 1000 + skew_seconds * 1_000_000


def is_late(view: View, window_start_us: int | None, watermark_us: int) -> bool:
    """Whether a window takes no more records: its end plus grace is at or below the watermark. A pane takes them as
    long as any window does that it is in.

    Where rows merge `window_start_us` is the record's own instant: it is late by that alone, whatever rows there are
    (docs/decisions/0010), so a row cannot change once its end plus grace is reached.
    """
    if window_start_us is None:
        return False
    end_us = window_start_us if view.window.merges else view.window.end(window_start_us)
    return end_us + view.grace_us <= watermark_us
