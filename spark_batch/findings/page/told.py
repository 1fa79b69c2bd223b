"""Keys, cells and places of a report in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from app.base.printable import printable
from app.domain.view import FIRST_WINDOW
from app.domain.windows.scope import Scope
from app.rides.zones import ZONE_COLUMNS, zones
from spark_batch.findings.keys import shown_instant

ABSENT = "–"


def told_value(view: Mapping[str, Any], name: str, value: Any) -> str:
    """Of a column of the view's groups; of a zone its name as TLC has it, borough and number."""
    if value is None:
        return "none"
    if name == FIRST_WINDOW.name:
        return told_us(value)
    if view["groups"].get(name) in ZONE_COLUMNS and (zone := zones().get(value)) is not None:
        return f"{zone.name}, {zone.borough} ({value})"
    return printable(str(value))


def told_key(view: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Of a row that differs: its group and the start of its window; of windows that overlap, of what is stored."""
    told = [f"{name.replace('_', ' ')} {told_value(view, name, value)}" for name, value in row["group"].items()]
    start_us = row["window_start_us"]
    return " · ".join(told + ([] if start_us is None else [told_us(start_us)]))


def told_scope(scope: Mapping[str, Any]) -> str:
    """Which windows a run compared."""
    return str(Scope(**scope))


def told_us(us: int) -> str:
    """An instant of the stream's."""
    return told_instant(shown_instant(us))


def told_instant(text: str | None) -> str:
    """`2026-01-05 05:10:00 UTC` of an ISO instant; what is none as it is."""
    if text is None:
        return ABSENT
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError):
        return text


def told_cell(cells: Mapping[str, Any] | None, name: str) -> str:
    """A cell to its last digit, in the unit that its name says; a dash where the side has no such row."""
    return ABSENT if cells is None or name not in cells else f"{cells[name]:,}"


def told_cells(cells: Mapping[str, Any] | None) -> str:
    """What a record makes alone: its cells that are not 0, but for the fingerprint."""
    told = ((name, value) for name, value in (cells or {}).items() if value and name != "fingerprint")
    return ", ".join(f"{name} {value:,}" for name, value in told) or ABSENT


def told_columns(values: Mapping[str, Any] | None) -> str:
    """All columns of a result in one line."""
    return ABSENT if values is None else printable(", ".join(f"{name} {value}" for name, value in values.items()))


def told_id(value: Any) -> str:
    """A record's id."""
    return ABSENT if value is None else printable(str(value))


def told_sides(one: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of sessions that differ: by side, from when to when each is."""
    for side, extents in one.get("rows", {}).items():
        told = (f"{told_us(extent['start_us'])} to {told_us(extent['end_us'])}" for extent in extents)
        yield side, "; ".join(told) or "no row"


def told_elapsed(report: Mapping[str, Any]) -> str:
    """From its beginning to its end."""
    if report["finished"] is None:
        return ABSENT
    seconds = (datetime.fromisoformat(report["finished"]) - datetime.fromisoformat(report["started"])).total_seconds()
    return f"{seconds:,.0f} s"
