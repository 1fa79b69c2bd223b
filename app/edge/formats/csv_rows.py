"""Rows as comma-separated values, which spreadsheets and shells take; there is no place for what they rest on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from app.edge.formats.format import Document, Told

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def encode(told: Told) -> bytes:
    """A line of names and one for each row; nothing where there are no rows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for at, row in enumerate(map(flat, told.rows)):
        if at == 0:
            writer.writerow(row)
        writer.writerow(map(unharmed, row.values()))
    return text.getvalue().encode()


def schema(_row: Document, _meta: Document) -> Document:
    """Text, of which a schema says nothing."""
    return {"type": "string"}


def flat(row: Document) -> Document:
    """A row as one level of columns: rank, window, groups, measures, figures, state."""
    window = {f"window_{end}": row["window"][end] for end in ("start", "end")} if row["window"] else {}
    told = {**row["measures"], **row.get("figures", {})}
    values = (value for name, held in told.items() for value in _flat(name, held))
    rank = {"rank": row["rank"]} if "rank" in row else {}
    return {**rank, **window, **row["group"], **dict(values), "state": row["state"], "fingerprint": row["fingerprint"]}


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value as columns: a list in one, a bin in two."""
    if isinstance(value, dict):
        yield from ((f"{name}_{end}", limit) for end, limit in value.items())
    else:
        yield name, " ".join(map(str, value)) if isinstance(value, list) else value


def unharmed(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
