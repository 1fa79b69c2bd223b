"""Figures as the page writes them, by the unit that their name ends with."""

from __future__ import annotations

from typing import Any

ABSENT = "–"
UNITS = {"_cents": "$", "_us": "time", "_hundredth_miles": "mi"}


def heading(name: str) -> str:
    """A measure's name without its unit: `tip_cents` is headed `tip`, its figures carry the unit."""
    for unit in UNITS:
        name = name.removesuffix(unit)
    return name.replace("_", " ")


def figure(name: str, value: Any) -> str:
    """A value with its unit; a dash for null."""
    if value is None:
        return ABSENT
    if name.endswith("_cents"):
        return f"{'−' if value < 0 else ''}${abs(value) / 100:,.2f}"
    if name.endswith("_us"):
        return duration(value)
    if name.endswith("_hundredth_miles"):
        tenths = round(abs(value) / 10) / 10  # half to even of a whole number, as the page's scripts do
        return f"{'−' if value < 0 else ''}{tenths:,.1f} mi"
    return f"{value:,}" if isinstance(value, int) else str(value)


def duration(length_us: int) -> str:
    """`1 h 05 min`, `12 min 03 s`, `8 s`."""
    sign, seconds = ("−" if length_us < 0 else ""), abs(length_us) // 1_000_000
    minutes, hours = seconds // 60, seconds // 3600
    if hours:
        return f"{sign}{hours:,} h {minutes % 60:02} min"
    return f"{sign}{minutes} min {seconds % 60:02} s" if minutes else f"{sign}{seconds} s"


def bars(counts: list[int], height: int = 18) -> list[tuple[int, int, int]]:
    """(x, y, height) of a histogram's bars in whole units; a bin that is not empty shows at least one."""
    top = max([*counts, 1])
    heights = [0 if count <= 0 else max(1, round(height * count / top)) for count in counts]
    return [(6 * at, height - tall, tall) for at, tall in enumerate(heights)]
