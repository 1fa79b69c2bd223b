"""Figures as the page writes them, by the unit that they are in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.domain.column import ENDINGS, NumberUnit
from app.domain.windows.instants import to_iso

ABSENT = "–"


def heading(unit: NumberUnit | None, name: str) -> str:
    """A measure's name without its unit: `tip_cents` is headed `tip`, its figures carry the unit."""
    for ending, of_ending in ENDINGS.items():
        if unit is of_ending or (unit is NumberUnit.INSTANT and of_ending is NumberUnit.MICROSECONDS):
            name = name.removesuffix(ending)
    return name.replace("_", " ") + (", UTC" if unit is NumberUnit.INSTANT else "")


def figure(unit: NumberUnit | None, value: Any) -> str:
    """A value with its unit; a dash for null."""
    if value is None:
        return ABSENT
    if unit is not None:
        return WRITTEN[unit](value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def instant(at_us: int) -> str:
    """`2024-01-31 08:05:00`, UTC."""
    return to_iso(at_us)[:19].replace("T", " ")


def duration(length_us: int) -> str:
    """`1 h 05 min`, `12 min 03 s`, `8 s`."""
    sign, seconds = ("−" if length_us < 0 else ""), abs(length_us) // 1_000_000
    minutes, hours = seconds // 60, seconds // 3600
    if hours:
        return f"{sign}{hours:,} h {minutes % 60:02} min"
    return f"{sign}{minutes} min {seconds % 60:02} s" if minutes else f"{sign}{seconds} s"


def _dollars(cents: int) -> str:
    return f"{'−' if cents < 0 else ''}${abs(cents) / 100:,.2f}"


def _miles(hundredths: int) -> str:
    tenths = round(abs(hundredths) / 10) / 10  # half to even of a whole number, as the page's scripts do
    return f"{'−' if hundredths < 0 else ''}{tenths:,.1f} mi"


WRITTEN: Mapping[NumberUnit, Callable[[int], str]] = {
    NumberUnit.INSTANT: instant,
    NumberUnit.MICROSECONDS: duration,
    NumberUnit.CENTS: _dollars,
    NumberUnit.HUNDREDTH_MILES: _miles,
}


def bars(counts: list[int], height: int = 18) -> list[tuple[int, int, int]]:
    """(x, y, height) of a histogram's bars in whole units; a bin that is not empty shows at least one."""
    top = max([*counts, 1])
    heights = [0 if count <= 0 else max(1, round(height * count / top)) for count in counts]
    return [(6 * at, height - tall, tall) for at, tall in enumerate(heights)]
