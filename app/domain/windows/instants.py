"""Instants as text. Inside, all are microseconds since the epoch, UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@lru_cache(maxsize=4096)  # answer after answer names the same ones
def to_iso(instant_us: int) -> str:
    """ISO 8601 in UTC, with a Z."""
    return (EPOCH + instant_us * MICROSECOND).isoformat().removesuffix("+00:00") + "Z"
