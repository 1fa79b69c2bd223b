"""Every format of rows, once: the first is the one that who names none gets."""

from __future__ import annotations

from app.edge.formats import csv_rows, json_rows
from app.edge.formats.format import Format

FORMATS = (
    Format("json", "application/json", "JSON", json_rows.encode, json_rows.schema),
    Format("csv", "text/csv", "comma-separated values", csv_rows.encode),
)


def served() -> tuple[Format, ...]:
    """Those that a worker answers in."""
    return tuple(one for one in FORMATS if one.schema is not None)
