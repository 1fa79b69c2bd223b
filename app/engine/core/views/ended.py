"""Rows whose windows have ended: found in bounded steps, in order of their ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.codecs.stored.changelog import Int64s
from app.domain.event_time import NO_WATERMARK, ended_below_us, last_end_us
from app.domain.marker import Marker
from app.domain.rules.obeyed import lowest_seen_us
from app.domain.view import SESSION_END, AllTime, Session, Tumbling, View
from app.domain.windows import Calendar, Hopping
from app.engine.core.rows.state import ViewState
from app.engine.core.views.placing import instants_of


class Ended(NamedTuple):
    """Slots of rows, in no particular order, and the instant up to which they are all there are."""

    slots: Int64s
    to_us: int


def closable_to_us(view: View, marker: Marker) -> int | None:
    """Windows that end at or before it take no more records in this task; None if there are none.

    It moves in steps of the view's own grain, so that the same answer needs no second look.
    """
    if isinstance(view.window, AllTime):
        return None
    lowest_us = lowest_seen_us(view, marker)
    if lowest_us == NO_WATERMARK:
        return None
    return last_end_us(view, lowest_us - view.grace_us)


def ends_at(state: ViewState, slots: Int64s) -> Int64s:
    """The exclusive end of each row's window, as `app.domain.event_time.ends_at_us`."""
    windows = state.windows_at(slots)
    assert windows is not None  # of all-time views nothing ends
    match state.view.window:
        case Tumbling(size_us=size_us):
            return windows + size_us
        case Hopping(size_us=size_us, step_us=step_us, offset_us=offset_us):
            return (windows - offset_us) // step_us * step_us + (offset_us + size_us)
        case Calendar():
            boundaries_us = instants_of(state.view)
            ends: Int64s = boundaries_us[np.searchsorted(boundaries_us, windows, side="right")]
            return ends
        case Session(gap_us=gap_us):
            return state.cell_at(slots, SESSION_END) + gap_us
        case AllTime():
            raise ValueError(f"{state.view.name}: a row of an all-time view never ends")


def next_ended(state: ViewState, after_us: int | None, to_us: int, most: int) -> Ended:
    """Rows whose windows end in `(after_us, to_us]`: the earliest `most` of them, and all that end with the last."""
    view = state.view
    if isinstance(view.window, Session):
        slots = state.find(until_us=to_us + 1)
    else:
        from_us = None if after_us is None else ended_below_us(view, after_us)
        slots = state.find(from_us=from_us, until_us=ended_below_us(view, to_us))
    ends = ends_at(state, slots)
    inside = ends <= to_us if after_us is None else (ends <= to_us) & (ends > after_us)
    slots, ends = slots[inside], ends[inside]
    if len(slots) <= most:
        return Ended(slots, to_us)
    last_us = int(np.partition(ends, most - 1)[most - 1])
    return Ended(slots[ends <= last_us], last_us)
