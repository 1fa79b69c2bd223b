"""Lengths of time as text and back. Inside, all are microseconds."""

from __future__ import annotations

import re

SECOND_US = 1_000_000
DURATION_EXAMPLE = "a whole number with its unit s, m, h or d, as 15m"

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"([1-9]\d{0,8})([smhd])", re.ASCII)


def duration_us(text: str) -> int:
    """Microseconds of `90s`, `15m`, `1h`, `1d`; ValueError for anything else."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not {DURATION_EXAMPLE}")
    return int(match[1]) * _UNIT_SECONDS[match[2]] * SECOND_US


def to_duration(length_us: int) -> str:
    """Shortest text that `duration_us` reads back."""
    seconds = length_us // SECOND_US
    unit = next(u for u in "dhms" if seconds % _UNIT_SECONDS[u] == 0)
    return f"{seconds // _UNIT_SECONDS[unit]}{unit}"
