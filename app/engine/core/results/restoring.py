"""What the changelog holds of the closing stage: rows that wait, open rows, marks, and finals that are remembered."""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.blobs import NULL, Blobs
from app.codecs.stored.closing_columns import decode_opens
from app.codecs.stored.closings import (
    Mark,
    as_closed_row_key,
    as_final_key,
    decode_mark,
    mark_head,
    open_head,
    task_of,
)
from app.codecs.stored.row_keys import row_prefix
from app.domain.view import View
from app.engine.core.possible import are_possible, is_possible
from app.engine.core.rows.open_rows import OpenRows
from app.engine.core.rows.stored_rows import Taker, last_of_each, latest, row_taker
from app.engine.core.task_state import TaskState


def closing_takers(view: View, state: TaskState) -> dict[bytes, Taker]:
    """Who takes a view's records, by the beginning of their keys."""
    name = view.name
    return {
        as_closed_row_key(row_prefix(view)): row_taker(state.closings[name]),
        open_head(view): _open_taker(view, state.open_rows[name]),
        mark_head(view): _mark_taker(view, state.marks[name]),
        as_final_key(row_prefix(view)): row_taker(state.finals[name]),
    }


def _open_taker(view: View, open_rows: OpenRows) -> Taker:
    def take(keys: Blobs, values: Blobs, _: Int64s) -> None:
        last = last_of_each(keys)
        keys, values = keys.at(last), values.at(last)
        told = np.flatnonzero(values.lengths != NULL)
        closed_to_us = decode_opens(values.at(told))
        possible = are_possible(view, closed_to_us)
        open_rows.remove(keys)
        open_rows.put(keys.at(told[possible]), closed_to_us[possible])
        open_rows.pack()

    return take


def _mark_taker(view: View, marks: dict[int, Mark]) -> Taker:
    def take(keys: Blobs, values: Blobs, _: Int64s) -> None:
        told = {task_of(key): decode_mark(value) for key, value in latest(keys, values) if value is not None}
        marks.update({task: mark for task, mark in told.items() if is_possible(view, mark.closed_to_us)})

    return take
