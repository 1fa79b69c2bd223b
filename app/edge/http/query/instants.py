"""Instants as text and back. Inside, all are microseconds since the epoch, UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from app.domain.event_time import NO_WATERMARK
from app.domain.source import FIRST_INSTANT_US, LAST_INSTANT_US
from app.domain.view import View
from app.domain.windows.instants import EPOCH, MICROSECOND, to_iso

INSTANT_EXAMPLE = "an instant with its zone, as 2024-01-31T08:00:00Z"
MAX_WINDOW_US = 366 * 86_400 * 1_000_000


def to_us(text: str) -> int:
    """Microseconds of an ISO 8601 instant; ValueError without an offset, since no zone would be a guess, and before the
    year 1 or after 9999 in UTC, where it could not be told again.

    Python stops reading at a NUL, and takes any letter between day and time.
    """
    if not text.isprintable():
        raise ValueError(f"{text!r} is no instant")
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no zone")
    try:
        return (instant.astimezone(UTC) - EPOCH) // MICROSECOND
    except OverflowError as error:
        raise ValueError(str(error)) from error


def instant_wanted(text: str) -> str:
    """What a parameter is to say that says this, which is no instant: a plus of an address arrives as a blank."""
    try:
        to_us("+".join(text.rsplit(" ", 1)))
    except ValueError:
        return INSTANT_EXAMPLE
    return f"{INSTANT_EXAMPLE}; a + in an address is a blank, and is written %2B"


def watermark_text(watermark_us: int) -> str | None:
    """The instant as text; None while there is no watermark."""
    return None if watermark_us == NO_WATERMARK else to_iso(watermark_us)


def instant_range(view: View) -> tuple[int, int]:
    """First and last instant that a question about the view's windows may name.

    Those that its records can have, a longest window more on either side, and the epoch, by which many say "from the
    beginning". ValueError for all time.
    """
    if view.window.column is None:
        raise ValueError(f"{view.name}: all time has no instants")
    low, high = view.source.bounds(view.window.column)
    first_us = (FIRST_INSTANT_US if low is None else low) - MAX_WINDOW_US
    last_us = (LAST_INSTANT_US if high is None else high) + MAX_WINDOW_US
    return min(first_us, 0), max(last_us, 0)


def later(one: int | None, other: int | None) -> int | None:
    """Of two bounds towards the past the one that leaves less; None is no bound."""
    if one is None or other is None:
        return one if other is None else other
    return max(one, other)
