"""What is wrong with a window's definition, in words; every mistake, not the first alone."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.boundaries import EARLIEST_US, LATEST_US, is_zone
from app.domain.source import Coalesce, Source
from app.domain.windows import Calendar, Hopping, Unit


def size_problems(size_seconds: int, offset_seconds: int, period_seconds: int, period: str) -> Iterable[str]:
    """What is wrong with a window's size, and with an offset that must lie within a `period`."""
    if size_seconds <= 0:
        yield f"window of {size_seconds} seconds"
    if offset_seconds < 0 or 0 < period_seconds <= offset_seconds:
        yield f"window offset of {offset_seconds} seconds is not between 0 and the {period} of {period_seconds}"


def hopping_problems(window: Hopping) -> Iterable[str]:
    """What is wrong with sizes, steps and offsets."""
    yield from size_problems(window.size_seconds, window.offset_seconds, window.step_seconds, "step")
    if window.step_seconds <= 0:
        yield f"step of {window.step_seconds} seconds"
    elif window.step_seconds > window.size_seconds:
        yield (
            f"step of {window.step_seconds} seconds is longer than the window's {window.size_seconds}: "
            "what lies between two windows would be in none"
        )


def calendar_problems(window: Calendar, source: Source) -> Iterable[str]:
    """What is wrong with a calendar over a source's column."""
    if window.unit not in list(Unit):
        yield f"calendar unit {window.unit!r} is none of {', '.join(Unit)}"
    if not is_zone(window.zone):
        yield f"time zone {window.zone!r} is not in the IANA database, as America/New_York is"
    if window.column in source.by_name:
        low, high = instant_bounds(source, window.column)
        if low is None or high is None or low < EARLIEST_US or high > LATEST_US:
            yield f"window column {window.column!r} needs bounds between the years 1800 and 2300, whose days are known"


def instant_bounds(source: Source, column: str) -> tuple[int | None, int | None]:
    """Between which values a usable record can have in the column, both inclusive; None for a side without."""
    coalesced = (d.columns for d in source.derived if isinstance(d, Coalesce) and d.column.name == column)
    held = [source.by_name[name] for name in next(coalesced, (column,))]
    lows, highs = [c.low for c in held if c.low is not None], [c.high for c in held if c.high is not None]
    return (
        min(lows) if len(lows) == len(held) else None,
        max(highs) if len(highs) == len(held) else None,
    )
