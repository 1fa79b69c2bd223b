"""Bounds of event time: windows, skew and lateness, to the microsecond."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.event_time import NO_WATERMARK, is_skewed
from app.domain.oracle.view_fold import is_late
from app.domain.windows.tumbling import Tumbling
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND

SECOND_US = 1_000_000
PANE = Tumbling("pickup_at_us", size_seconds=300)
PANE_US = 300 * SECOND_US
VIEW = replace(ZONE_DEMAND, window=PANE, grace_seconds=60)
GRACE_US = 60 * SECOND_US


@pytest.mark.parametrize(
    ("instant_us", "start_us"),
    [
        #  |.......300 s.......|.......300 s.......|
        #                      0
        (0, 0),
        (1, 0),
        (PANE_US - 1, 0),
        (PANE_US, PANE_US),
        (-1, -PANE_US),
        (-PANE_US, -PANE_US),
        (-PANE_US - 1, -2 * PANE_US),
    ],
)
def test_a_window_holds_its_start_and_not_its_end_before_1970_too(instant_us: int, start_us: int) -> None:
    assert PANE.start(instant_us) == start_us


@given(st.integers(-(2**53), 2**53), st.integers(1, 10**6))
def test_every_instant_lies_in_just_the_window_that_is_named(instant_us: int, size_seconds: int) -> None:
    window = Tumbling("pickup_at_us", size_seconds)
    start = window.start(instant_us)
    assert start % window.size_us == 0
    assert start <= instant_us < start + window.size_us


@pytest.mark.parametrize(
    ("ahead_us", "skewed"),
    [(-1, False), (0, False), (600 * SECOND_US, False), (600 * SECOND_US + 1, True)],
)
def test_a_record_is_skewed_only_beyond_the_bound(ahead_us: int, skewed: bool) -> None:
    """Kafka timestamp |------- 600 s -------|x    one microsecond later is too late"""
    timestamp_ms = 1_700_000_000_123
    assert is_skewed(timestamp_ms * 1000 + ahead_us, timestamp_ms, skew_seconds=600) is skewed


@pytest.mark.parametrize("start_us", [0, -PANE_US, 10 * PANE_US])
@pytest.mark.parametrize(("beyond_us", "late"), [(-1, False), (0, True), (1, True)])
def test_a_window_is_closed_when_the_watermark_reaches_end_plus_grace(
    start_us: int, beyond_us: int, late: bool
) -> None:
    """start |--- 300 s ---| end |- 60 s grace -| closed from here on"""
    assert is_late(VIEW, start_us, start_us + PANE_US + GRACE_US + beyond_us) is late


def test_nothing_is_late_before_the_first_record() -> None:
    assert not is_late(VIEW, -(2**60), NO_WATERMARK)


def test_a_running_total_has_no_lateness() -> None:
    assert not is_late(VENDOR_TRIPS, None, 2**63 - 1)
