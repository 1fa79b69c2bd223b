"""Keys of rows, and instants, in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from app.domain import difference as d
from app.domain.view import View

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def shown_key(view: View, row: d.ComparedRow) -> dict[str, Any]:
    """A row's key in words: group names, window start as an instant."""
    group = {g.name: value for g, value in zip(view.stored_groups, row.key.group, strict=True)}
    start = row.key.window_start_us
    return {"partition": row.partition, **group, "window_start": None if start is None else shown_instant(start)}


def shown_instant(us: int) -> str:
    """ISO 8601, UTC; the number itself where no calendar reaches, as what a fault has left may say anything."""
    try:
        return (EPOCH + timedelta(microseconds=us)).isoformat()
    except OverflowError:
        return f"{us} us"
