"""Cursors of rows: the place of a page's last key, unknown to the server once it is sent.

A cursor holds no rows and no position: the next page is read from the state of its own time, and says so.
It belongs to one view, version and set of filters, and is refused with any other. Clients hold it sealed; workers, who
know each other, pass it on as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from app.domain.rows import RowKey
from app.domain.view import View
from app.edge.http.problems import Problem
from app.edge.http.query.instants import instant_range
from app.edge.http.query.text_places import MOST_LETTERS

LAYOUT = 2
_INT64 = range(-(1 << 63), 1 << 63)


class KeyShape(NamedTuple):
    """What the keys of an answer are: whether they have a window, and which of the values behind it are texts."""

    view: View
    windowed: bool
    texts: tuple[bool, ...]


def encode(filters_hash: str, place: RowKey) -> str:
    """The cursor after a place (`app.edge.http.query.text_places`)."""
    return orjson.dumps([LAYOUT, filters_hash, place.window_start_us, list(place.group)]).decode()


def decode(shape: KeyShape, filters_hash: str, cursor: str) -> RowKey:
    """The place a cursor stands after; a problem if it is none of ours or was made for another request."""
    try:
        told: Any = orjson.loads(cursor)
        layout, made_for, window, group = told
    except (ValueError, TypeError):
        raise Problem("bad-cursor", "This is no cursor of rows; take meta.next_cursor of the page before.") from None
    if layout != LAYOUT or made_for != filters_hash:
        detail = "The cursor was made for another view, version or question; start again without a cursor."
        raise Problem("bad-cursor", detail)
    if not _fits(shape, window, group):
        raise Problem("bad-cursor", f"The cursor's key is not one of {shape.view.name}; start again without a cursor.")
    return RowKey(window, tuple(group))


def _fits(shape: KeyShape, window: Any, group: Any) -> bool:
    if not _fits_window(shape, window) or not isinstance(group, list) or len(group) != len(shape.texts):
        return False
    return all(
        value is None or (_is_text_place(value) if text else type(value) is int and value in _INT64)
        for value, text in zip(group, shape.texts, strict=True)
    )


def _is_text_place(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MOST_LETTERS


def _fits_window(shape: KeyShape, window: Any) -> bool:
    if not shape.windowed or type(window) is not int:
        return not shape.windowed and window is None
    first_us, last_us = instant_range(shape.view)
    return first_us <= window <= last_us
