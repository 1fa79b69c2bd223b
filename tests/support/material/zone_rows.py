"""Rows of a small view, made by hand, and what a state holds of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.codecs.stored.row_keys import decode_key, encode_keys
from app.domain.measures.kinds import Count
from app.domain.rows import Cells, RowKey
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.tumbling import Tumbling
from app.engine.core.rows.state import Rows
from tests.support.material.trips import TRIPS

PANE_US = 10_000_000

VIEW = View(
    1, "by_zone", TRIPS, (Group("zone", "zone"), Group("who", "id")), Tumbling("begun_us", 10), (Count("n"),), 0, 0, ""
)

TOTAL = replace(VIEW, window=AllTime(), groups=())

ZONES, NAMES = (1, 265, None), ("a", "", "é", None)


def as_table(view: View, rows: Rows) -> dict[RowKey, Cells]:
    """Rows as a test writes them down."""
    keys = encode_keys(view, rows.windows, rows.groups, len(rows))
    return {decode_key(view, key): tuple(cells) for key, cells in zip(keys, rows.cells.tolist(), strict=True)}


def many(first: int, count: int) -> Rows:
    """Rows of consecutive windows; the cells name the row."""
    numbers = np.arange(first, first + count)
    who = np.empty(count, object)
    who[:] = [None if n % 3 else str(n) for n in numbers]
    return Rows(numbers * PANE_US, [numbers % 265 + 1, who], np.stack([numbers, -numbers], axis=1))
