"""How each kind of window is told: as a document, in words, and in the requests that close it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.windows.all_time import AllTime
from app.domain.windows.boundaries import Unit
from app.domain.windows.calendar import Calendar
from app.domain.windows.contract import Window
from app.domain.windows.hopping import Hopping
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.edge.http.documents.parameters import of_window
from app.edge.http.rows.view_documents import view_document
from app.rides.closing import closing_watermark_us
from app.rides.views import ZONE_DEMAND

AT, NEW_YORK = "pickup_at_us", "America/New_York"
NOON_MS = 1_772_971_200_000
"""2026-03-08T12:00Z, in a day of 23 hours."""
HOUR_US = 3_600_000_000
KINDS: list[tuple[Window, dict[str, str], str, int]] = [
    (AllTime(), {"kind": "all-time"}, "all time", 0),
    (
        Tumbling(AT, 300, 60),
        {"kind": "tumbling", "column": AT, "pane": "5m", "offset": "1m"},
        f"300 s from 60 s by {AT}",
        300_000_000,
    ),
    (
        Hopping(AT, 3600, 900),
        {"kind": "hopping", "column": AT, "size": "1h", "step": "15m"},
        f"3600 s every 900 s by {AT}",
        HOUR_US,
    ),
    (
        Calendar(AT, Unit.DAY, NEW_YORK),
        {"kind": "calendar", "column": AT, "unit": "day", "zone": NEW_YORK},
        f"day of {NEW_YORK} by {AT}",
        23 * HOUR_US,
    ),
    (
        Session(AT, 60),
        {"kind": "session", "column": AT, "gap": "1m"},
        f"sessions of {AT}, gap 60 s",
        60_000_000,
    ),
]


@pytest.mark.parametrize(("window", "document", "words", "length_us"), KINDS, ids=lambda told: str(told)[:20])
def test_a_window_is_told_as_what_it_is(
    *, window: Window, document: dict[str, str], words: str, length_us: int
) -> None:
    view = replace(ZONE_DEMAND, window=window)
    assert view_document(view)["window"] == document
    assert view.window.describe() == words
    assert closing_watermark_us(NOON_MS, [view]) == NOON_MS * 1000 + length_us + view.grace_us


@pytest.mark.parametrize(
    ("window", "parameters"),
    [
        (Tumbling(AT, 300), ["from", "to", "window", "step", "last"]),
        (Hopping(AT, 300, 60), ["from", "to"]),
        (Calendar(AT, Unit.HOUR, NEW_YORK), ["from", "to"]),
        (Session(AT, 60), ["from", "to"]),
        (AllTime(), []),
    ],
    ids=["tumbling", "hopping", "calendar", "session", "all time"],
)
def test_the_api_document_has_the_parameters_that_a_view_takes(window: Window, parameters: list[str]) -> None:
    assert [told["name"] for told in of_window(replace(ZONE_DEMAND, window=window))] == parameters
