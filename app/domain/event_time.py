"""Event time: windows, watermarks, lateness (rules 6 and 7). No wall clock anywhere.

Times are microseconds since the epoch, UTC; windows are half-open, `[start, end)`.
"""

from __future__ import annotations

from app.domain.view import AllTime, Session, Tumbling, View
from app.domain.windows import Calendar, Hopping

NO_WATERMARK = -(1 << 63)
"""Watermark of a topic-partition in which no record was seen."""


def window_start(view: View, instant_us: int) -> int:
    """Start of the stored window that holds the instant: of a hopping view the pane, of a session the instant."""
    match view.window:
        case Tumbling() as window:
            return window.start(instant_us)
        case Hopping() as window:
            return window.pane_start(instant_us)
        case Calendar():
            return view.boundaries.start(instant_us)
        case Session():
            return instant_us
        case AllTime():
            raise ValueError(f"{view.name}: all time has no start")


def is_skewed(reported_at_us: int, kafka_timestamp_ms: int, skew_seconds: int) -> bool:
    """Whether a record is stamped too far ahead of its own Kafka timestamp; one exactly at the bound is not."""
    return reported_at_us > kafka_timestamp_ms * 1000 + skew_seconds * 1_000_000


def is_late(view: View, window_start_us: int | None, watermark_us: int) -> bool:
    """Whether a window takes no more records: its end plus grace is at or below the watermark. A pane takes them as
    long as any window does that it is in.

    For a session view `window_start_us` is the record's own instant: it is late by that alone, whatever sessions
    there are (docs/decisions/0010), so a session cannot change once `ends_at_us` plus grace is reached.
    """
    if isinstance(view.window, AllTime) or window_start_us is None:
        return False
    end_us = window_start_us if isinstance(view.window, Session) else ends_at_us(view, window_start_us)
    return end_us + view.grace_us <= watermark_us


def ends_at_us(view: View, window_start_us: int, session_end_us: int = 0) -> int:
    """The exclusive end of a row's window, of a pane that of its last window; a session ends a gap after its last
    record. ValueError for all time."""
    match view.window:
        case Tumbling(size_us=size_us):
            return window_start_us + size_us
        case Hopping() as window:
            return window.last_window(window_start_us) + window.size_us
        case Calendar():
            return view.boundaries.end(window_start_us)
        case Session(gap_us=gap_us):
            return session_end_us + gap_us
        case AllTime():
            raise ValueError(f"{view.name}: a row of an all-time view never ends")


def last_end_us(view: View, instant_us: int) -> int:
    """An instant at or before the given one by which just as many windows of the view have ended.

    Sessions end anywhere: theirs is a multiple of the gap, so that it moves in steps. ValueError for all time.
    """
    match view.window:
        case Tumbling() as window:
            return window.start(instant_us)
        case Hopping() as window:
            return window.last_end(instant_us)
        case Calendar():
            return view.boundaries.last(instant_us)
        case Session(gap_us=gap_us):
            return instant_us // gap_us * gap_us
        case AllTime():
            raise ValueError(f"{view.name}: all time never ends")


def ended_below_us(view: View, to_us: int) -> int:
    """Rows whose windows start below it, and no others, have ended by `to_us`. ValueError for sessions and all time."""
    match view.window:
        case Tumbling(size_us=size_us):
            return to_us - size_us + 1
        case Hopping() as window:
            return window.first_ending_after(to_us)
        case Calendar():
            return view.boundaries.last(to_us)
        case Session() | AllTime():
            raise ValueError(f"{view.name}: a window's start does not tell when it ends")


def window_end_us(view: View, window_start_us: int) -> int:
    """The exclusive end of a window by its own start, as answers and finals name it. ValueError for sessions and all
    time."""
    match view.window:
        case Tumbling(size_us=size_us) | Hopping(size_us=size_us):
            return window_start_us + size_us
        case Calendar():
            return view.boundaries.end(window_start_us)
        case Session() | AllTime():
            raise ValueError(f"{view.name}: a window's start does not tell when it ends")
