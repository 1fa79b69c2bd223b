"""Keys, cells and places of a report in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.base.pages.figures import ABSENT, figure
from app.base.printable import printable
from app.rides.zones import ZONE_COLUMNS, zones
from spark_batch.findings.keys import shown_instant


def told_value(view: Mapping[str, Any], name: str, value: Any) -> str:
    """Of a column of the view's groups; of a zone its name as TLC has it, borough and number."""
    if value is None:
        return "none"
    if view["groups"].get(name) in ZONE_COLUMNS and (zone := zones().get(value)) is not None:
        return f"{zone.name}, {zone.borough} ({value})"
    return printable(str(value))


def told_key(view: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Of a row that differs: its group and the start of its window."""
    told = [f"{name.replace('_', ' ')} {told_value(view, name, value)}" for name, value in row["group"].items()]
    start_us = row["window_start_us"]
    return " · ".join(told + ([] if start_us is None else [told_instant(shown_instant(start_us))]))


def told_instant(text: str | None) -> str:
    """`2026-01-05 05:10:00 UTC` of an ISO instant."""
    return ABSENT if text is None else f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S} UTC"


def told_cell(cells: Mapping[str, Any] | None, name: str) -> str:
    """A cell with its unit; a dash where the side has no such row."""
    return ABSENT if cells is None or name not in cells else figure(name, cells[name])


def told_columns(values: Mapping[str, Any] | None) -> str:
    """All columns of a result in one line."""
    return ABSENT if values is None else printable(", ".join(f"{name} {value}" for name, value in values.items()))
