"""Rides at a multiple of their own clock, with a clock that only the test moves."""

from __future__ import annotations

import polars as pl
import pytest

from app.domain.catalogue import TaskGroup
from app.domain.event_time import YEAR_2000_US, YEAR_2100_US
from app.rides.closing import CannotClose, closing_watermark_us, group_watermark_us
from app.rides.pace import Pace
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, VIEWS, ZONE_DEMAND

MINUTE_MS = 60_000


class Clock:
    """Time passes only by waiting."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.seconds

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds


def rides(*minutes: float) -> pl.DataFrame:
    return pl.DataFrame({"clock_ms": [round(minute * MINUTE_MS) for minute in minutes]})


def test_as_fast_as_possible_never_waits() -> None:
    clock = Clock()
    assert [len(part) for part in Pace(None, clock.now, clock.wait).parts(rides(0, 60, 600))] == [3]
    assert clock.waits == []


def test_sixty_times_real_time_sends_an_hour_in_a_minute() -> None:
    clock = Clock()
    parts = list(Pace(60, clock.now, clock.wait).parts(rides(0, 30, 60)))
    assert [len(part) for part in parts] == [1, 1, 1]
    assert clock.seconds == pytest.approx(60)


def test_the_clock_goes_on_from_frame_to_frame() -> None:
    clock = Clock()
    pace = Pace(60, clock.now, clock.wait)
    for frame in (rides(0, 1), rides(2, 3)):
        list(pace.parts(frame))
    assert clock.seconds == pytest.approx(3)


def test_no_ride_is_lost_or_moved_by_cutting() -> None:
    clock = Clock()
    whole = rides(*(n / 7 for n in range(500)))
    assert pl.concat(list(Pace(100, clock.now, clock.wait).parts(whole))).equals(whole)


def test_rides_of_the_same_moment_go_together() -> None:
    clock = Clock()
    assert [len(part) for part in Pace(1, clock.now, clock.wait).parts(rides(0, 0, 0, 1))] == [3, 1]


def test_who_is_behind_does_not_wait() -> None:
    clock = Clock()
    pace = Pace(1, clock.now, clock.wait)
    list(pace.parts(rides(0)))
    clock.seconds = 120
    list(pace.parts(rides(1)))
    assert clock.waits == []


def test_a_speed_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="never sends"):
        Pace(0)


def test_closing_adds_the_longest_window_and_its_grace() -> None:
    three_hours_five_minutes_us = (3 * 3600 + 300) * 1_000_000
    assert closing_watermark_us(1_000, (VENDOR_TRIPS, ZONE_DEMAND)) == 1_000_000 + three_hours_five_minutes_us


def test_views_without_windows_need_no_closing() -> None:
    assert closing_watermark_us(1_000, [VENDOR_TRIPS]) == 1_000_000


@pytest.mark.parametrize(
    "clock_us", [YEAR_2000_US - 1000, YEAR_2100_US - 1000, YEAR_2100_US, 253_402_300_799_000_000, -1]
)
def test_windows_are_not_closed_by_a_watermark_that_the_workers_would_refuse(clock_us: int) -> None:
    with pytest.raises(CannotClose, match=r"rides: .* are of 2000-01-01 00:00 to 2099-12-31 23:59 UTC; choose"):
        group_watermark_us(TaskGroup((RIDES,), VIEWS), clock_us // 1000)


def test_a_group_s_watermark_is_that_of_all_its_views() -> None:
    assert group_watermark_us(TaskGroup((RIDES,), VIEWS), YEAR_2000_US // 1000) == closing_watermark_us(
        YEAR_2000_US // 1000, VIEWS
    )
