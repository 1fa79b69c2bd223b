"""Windows of any kind of view, one after the other, and rows that stand at some of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.oracle.view_fold import by_window
from app.domain.records import as_integer
from app.domain.rows import RowKey
from app.domain.view import View
from tests.support.http import NOON_US
from tests.support.material.stored.tables import TableRows, cells_of, merge_tables

STARTS = 12
Places = list[tuple[int, int | None]]
"""Which of a view's stored starts, and a number that its groups are made of."""


def table_at(view: View, places: Places, seed: int) -> TableRows:
    """Rows at these of the view's stored starts; of overlapping windows each counts in all that hold it."""
    starts, overlap = list(_starts(view)), view.window.overlap
    first = [[overlap.first_ending_after(start_us)] if overlap else [] for start_us in starts]
    keys = (RowKey(starts[nth], (*first[nth], *_groups(view, number))) for nth, number in places)
    return {key: cells_of(view, 100 * seed + at) for at, key in enumerate(keys)}


def _starts(view: View) -> Iterator[int]:
    overlap = view.window.overlap
    start_us = overlap.pane_start(NOON_US) if overlap else view.window.start(NOON_US)
    for _ in range(STARTS):
        yield start_us
        start_us = overlap.last_window(start_us) + overlap.step_us if overlap else view.window.end(start_us)


def _groups(view: View, number: int | None) -> tuple[int | str | None, ...]:
    """Of numbers the number itself, of texts its digits."""
    texts = view.texts[len(view.texts) - len(view.groups) :]
    return tuple(str(number) if text and number is not None else number for text in texts)


def near(view: View, nth: int) -> int:
    first_us, second_us, *_ = _starts(view)
    return first_us + nth * (second_us - first_us)


def ended(view: View, tables: Sequence[TableRows], to_us: int) -> TableRows:
    """Windows that had ended by then, of all tasks together."""
    windows = merge_tables(view, [by_window(view, table) for table in tables], 1)
    return {key: cells for key, cells in windows.items() if view.window.window_end(start_us_of(key)) <= to_us}


def start_us_of(key: RowKey) -> int:
    return as_integer(key.window_start_us)
