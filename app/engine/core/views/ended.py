"""Rows whose windows have ended: found in bounded steps, in order of their ends."""

from __future__ import annotations

from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Marker
from app.domain.obeyed import lowest_seen_us
from app.domain.view import View
from app.engine.core.kinds.contract import FoundRows
from app.engine.core.kinds.kernels import kernel_of
from app.engine.core.rows.state import ViewState


def closable_to_us(view: View, marker: Marker) -> int | None:
    """Windows that end at or before it take no more records in this task; None if there are none.

    It moves in steps of the view's own grain, so that the same answer needs no second look.
    """
    if not view.window.ends:
        return None
    lowest_us = lowest_seen_us(view, marker)
    if lowest_us == NO_WATERMARK:
        return None
    return view.window.last_end(lowest_us - view.grace_us)


def next_ended(state: ViewState, after_us: int | None, to_us: int, most: int) -> FoundRows:
    """Rows whose windows end in `(after_us, to_us]`: the earliest `most` of them, and all that end with the last."""
    return kernel_of(state.view).next_ended(state, after_us, to_us, most)
