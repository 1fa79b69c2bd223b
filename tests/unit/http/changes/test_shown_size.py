"""What is kept for a stream takes as much memory as its rows have bytes, not many times as much."""

from __future__ import annotations

import tracemalloc

from multidict import MultiDict

from app.edge.formats.format import Told
from app.edge.http.changes.shown import ShownRows, shown
from app.edge.http.query.read_query import read_query
from app.rides.views import ZONE_DEMAND

ROWS = 1_000


def kept() -> tuple[ShownRows, int]:
    """Rows of a kilobyte each, and the memory that they take."""
    query = read_query(ZONE_DEMAND, MultiDict(), without=())
    rows = ({"group": {"zone": zone}, "numbers": [12_345] * 150} for zone in range(ROWS))
    tracemalloc.start()
    try:
        now = shown(query, Told(rows, {}, dict))
        return now, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_rows_that_are_kept_have_no_room_to_grow() -> None:
    now, memory_bytes = kept()
    assert len(now.rows) == ROWS
    assert memory_bytes < 2 * now.size_bytes
