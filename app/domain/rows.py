"""A stored row of a view: what it is found by, what it holds, and many of one key as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from app.domain.records import Value, as_integer
from app.domain.view import View

Cells = tuple[int, ...]
"""What a row holds, as `View.cells` names it."""
COUNT_AT, FINGERPRINT_AT = 0, 1
"""Where every row holds its count and fingerprint."""


class RowKey(NamedTuple):
    """Key of a row inside a task and view. `window_start_us` is None for all-time views.

    `group` has the values of `View.stored_groups`.
    """

    window_start_us: int | None
    group: tuple[Value, ...]


def end_of(view: View, key: RowKey, cells: Cells) -> int:
    """The exclusive end of the last window that holds a row, of a view whose windows end."""
    return view.window.end(as_integer(key.window_start_us), last_of(view, cells))


def last_of(view: View, cells: Sequence[int]) -> int:
    """The instant of a row's last record, as `Window.end` asks for it; 0 where the start alone tells the end."""
    return cells[view.last_at] if view.window.merges else 0


def merge_rows(view: View, rows: Iterable[Sequence[int]]) -> Cells:
    """All given rows of one key as one."""
    merged: Cells = view.neutral
    for row in rows:
        merged = view.merge(merged, row)
    return merged
