"""Instants and lengths of time as text and back. Inside, all are microseconds since the epoch, UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from app.domain.source import FIRST_INSTANT_US, LAST_INSTANT_US
from app.domain.view import AllTime, View
from app.domain.window_problems import instant_bounds

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INSTANT_EXAMPLE = "an instant with its zone, as 2024-01-31T08:00:00Z"
DURATION_EXAMPLE = "a whole number with its unit s, m, h or d, as 15m"
MAX_WINDOW_US = 366 * 86_400 * 1_000_000

_MICROSECOND = timedelta(microseconds=1)
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"([1-9]\d{0,8})([smhd])", re.ASCII)


def to_us(text: str) -> int:
    """Microseconds of an ISO 8601 instant; ValueError without an offset, since no zone would be a guess."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no zone")
    try:
        return (instant - EPOCH) // _MICROSECOND
    except OverflowError as error:
        raise ValueError(str(error)) from error


def to_iso(instant_us: int) -> str:
    """ISO 8601 in UTC, with a Z."""
    return (EPOCH + instant_us * _MICROSECOND).isoformat().removesuffix("+00:00") + "Z"


def instant_range(view: View) -> tuple[int, int]:
    """First and last instant that a question about the view's windows may name.

    Those that its records can have, a longest window more on either side, and the epoch, by which many say "from the
    beginning". ValueError for all time.
    """
    if isinstance(view.window, AllTime):
        raise ValueError(f"{view.name}: all time has no instants")
    low, high = instant_bounds(view.source, view.window.column)
    first_us = (FIRST_INSTANT_US if low is None else low) - MAX_WINDOW_US
    last_us = (LAST_INSTANT_US if high is None else high) + MAX_WINDOW_US
    return min(first_us, 0), max(last_us, 0)


def duration_us(text: str) -> int:
    """Microseconds of `90s`, `15m`, `1h`, `1d`; ValueError for anything else."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not {DURATION_EXAMPLE}")
    return int(match[1]) * _UNIT_SECONDS[match[2]] * 1_000_000


def to_duration(length_us: int) -> str:
    """Shortest text that `duration_us` reads back."""
    seconds = length_us // 1_000_000
    unit = next(u for u in "dhms" if seconds % _UNIT_SECONDS[u] == 0)
    return f"{seconds // _UNIT_SECONDS[unit]}{unit}"
