"""Hopping and calendar windows: where they begin and end, to the microsecond, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import DefinitionError
from app.domain.measures.kinds import Count
from app.domain.oracle.view_fold import is_late
from app.domain.source import Coalesce, Column, Kind
from app.domain.view import Group, View
from app.domain.windows.boundaries import Unit, boundaries
from app.domain.windows.calendar import Calendar
from app.domain.windows.contract import Window
from app.domain.windows.hopping import Hopping
from app.domain.windows.tumbling import Tumbling
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND

SECOND_US, HOUR_US = 1_000_000, 3_600_000_000
NEW_YORK = "America/New_York"
INSTANTS_US = st.integers(946_684_800_000_000, 4_102_444_799_999_999)
"""2000 to 2099, the bounds of a ride's instants."""
HOPPINGS = st.tuples(st.integers(1, 500), st.integers(1, 500), st.integers(0, 500)).map(
    lambda n: Hopping("pickup_at_us", max(n[:2]), min(n[:2]), n[2] % min(n[:2]))
)
WINDOWS = st.one_of(
    HOPPINGS,
    st.tuples(st.integers(1, 500), st.integers(0, 500)).map(lambda n: Tumbling("pickup_at_us", n[0], n[1] % n[0])),
    st.sampled_from([Calendar("pickup_at_us", unit, zone) for unit in Unit for zone in (NEW_YORK, "Asia/Kolkata")]),
)


def of(window: Window) -> View:
    return View(60, "odd", RIDES, (Group("zone", "pickup_zone"),), window, (Count("rides"),), 60, 0, "")


def us(text: str) -> int:
    """Microseconds of an instant in UTC, exactly."""
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )


@pytest.mark.parametrize(
    ("inside", "start", "end", "hours"),
    [
        ("2026-03-07T12:00", "2026-03-07T05:00", "2026-03-08T05:00", 24),
        ("2026-03-08T05:00", "2026-03-08T05:00", "2026-03-09T04:00", 23),  # clocks go forward at 2 in the morning
        ("2026-03-09T03:59:59.999999", "2026-03-08T05:00", "2026-03-09T04:00", 23),
        ("2026-03-09T04:00", "2026-03-09T04:00", "2026-03-10T04:00", 24),
        ("2026-11-01T04:00", "2026-11-01T04:00", "2026-11-02T05:00", 25),  # and back
        ("2026-11-02T04:59:59.999999", "2026-11-01T04:00", "2026-11-02T05:00", 25),
        ("2026-11-02T05:00", "2026-11-02T05:00", "2026-11-03T05:00", 24),
    ],
)
def test_a_new_york_day_is_as_long_as_clocks_make_it(inside: str, start: str, end: str, hours: int) -> None:
    days = of(Calendar("pickup_at_us", Unit.DAY, NEW_YORK))
    assert days.window.start(us(inside)) == us(start)
    assert days.window.window_end(us(start)) == days.window.end(us(start)) == us(end)
    assert us(end) - us(start) == hours * HOUR_US
    assert [is_late(days, us(start), us(end) + 60 * SECOND_US - one) for one in (1, 0)] == [False, True]


def test_the_hour_that_clocks_show_twice_is_two_windows_and_the_missing_one_none() -> None:
    hours = of(Calendar("pickup_at_us", Unit.HOUR, NEW_YORK))
    for day, count in (("2026-03-08T05:00", 23), ("2026-11-01T04:00", 25)):
        starts = [us(day) + n * HOUR_US for n in range(count)]
        assert [hours.window.start(start + HOUR_US - 1) for start in starts] == starts


def test_hours_follow_clocks_that_are_half_an_hour_apart_or_changed_by_half_an_hour() -> None:
    kolkata = of(Calendar("pickup_at_us", Unit.HOUR, "Asia/Kolkata"))
    assert kolkata.window.start(us("2026-01-01T00:29:59.999999")) == us("2025-12-31T23:30")
    lord_howe = of(Calendar("pickup_at_us", Unit.HOUR, "Australia/Lord_Howe"))
    changed = us("2026-04-04T15:00")  # 2:00 becomes 1:30: the hour from one is one and a half hours long
    assert (lord_howe.window.start(changed), lord_howe.window.window_end(changed)) == (
        changed - HOUR_US,
        changed + HOUR_US // 2,
    )


def test_a_day_that_begins_at_one_in_the_morning_and_one_that_never_was() -> None:
    sao_paulo = boundaries(Unit.DAY, "America/Sao_Paulo", us("2018-10-01"), us("2018-12-01"))
    assert sao_paulo.start(us("2018-11-04T12:00")) == us("2018-11-04T03:00")  # midnight was left out
    apia = boundaries(Unit.DAY, "Pacific/Apia", us("2011-12-01"), us("2012-01-31"))
    assert apia.start(us("2011-12-30T11:00")) == us("2011-12-30T10:00")  # the 31st; there was no 30th
    assert apia.start(us("2011-12-30T09:59")) == us("2011-12-29T10:00")


@pytest.mark.parametrize("zone", [NEW_YORK, "America/Sao_Paulo", "Pacific/Apia", "America/Toronto", "Asia/Gaza"])
@pytest.mark.parametrize("years", [(1917, 1921), (2009, 2013)])
def test_a_day_begins_where_clocks_show_its_date_first(zone: str, years: tuple[int, int]) -> None:
    clock, (first, last) = ZoneInfo(zone), (us(f"{year}-01-01") for year in years)
    for start_us in boundaries(Unit.DAY, zone, first, last).instants:
        here, before = (
            (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=start_us // SECOND_US - one)).astimezone(clock).date()
            for one in (0, 1)
        )
        assert before < here


@given(window=WINDOWS, instant_us=INSTANTS_US)
def test_every_instant_is_in_one_stored_window_which_ends_where_the_next_begins(
    window: Window, instant_us: int
) -> None:
    view = of(window)
    start = view.window.start(instant_us)
    assert start <= instant_us
    assert view.window.start(start) == start
    assert start == view.window.start(instant_us - 1) or start == instant_us
    assert instant_us < view.window.end(start)


@given(window=WINDOWS, instant_us=INSTANTS_US, ahead_us=st.integers(0, 10**9))
def test_what_has_ended_by_an_instant_is_told_by_where_it_begins(
    window: Window, instant_us: int, ahead_us: int
) -> None:
    view = of(window)
    start, to_us = view.window.start(instant_us), instant_us + ahead_us
    assert (start < view.window.ended_below(to_us)) == (view.window.end(start) <= to_us)
    assert view.window.last_end(to_us) <= to_us
    assert (view.window.end(start) <= view.window.last_end(to_us)) == (view.window.end(start) <= to_us)


@given(window=HOPPINGS, instant_us=INSTANTS_US)
def test_no_window_begins_or_ends_inside_a_pane(window: Hopping, instant_us: int) -> None:
    overlap = window.overlap
    around = range(overlap.first_ending_after(instant_us), overlap.last_window(instant_us) + 1, overlap.step_us)
    assert all(start <= instant_us < start + overlap.size_us for start in around)
    assert around[0] - overlap.step_us + overlap.size_us <= instant_us < around[-1] + overlap.step_us
    pane = overlap.pane_start(instant_us)
    assert pane >= around[-1]
    assert pane >= around[0] - overlap.step_us + overlap.size_us
    assert (overlap.first_ending_after(pane), overlap.last_window(pane)) == (around[0], around[-1])


@given(st.sampled_from([NEW_YORK, "Asia/Kolkata"]), st.sampled_from(list(Unit)), INSTANTS_US)
def test_a_table_of_boundaries_rises_and_holds_its_bounds(zone: str, unit: Unit, instant_us: int) -> None:
    table = boundaries(unit, zone, *(us(f"{year}-06-01") for year in (2000, 2030)))
    assert all(one < other for one, other in pairwise(table.instants[:100]))
    if us("2000-06-01") <= instant_us <= us("2030-06-01"):
        assert table.start(instant_us) <= instant_us < table.end(instant_us)
        assert table.has(table.start(instant_us))
        assert table.has(instant_us) == (table.start(instant_us) == instant_us)


@pytest.mark.parametrize(
    ("window", "problems"),
    [
        (Tumbling("pickup_at_us", 300, 300), ["window offset of 300 seconds is not between 0 and the size of 300"]),
        (Tumbling("pickup_at_us", 300, -1), ["window offset of -1 seconds is not between 0 and the size of 300"]),
        (
            Hopping("vendor", 0, 0, 7),
            ["window of 0 seconds", "step of 0 seconds", "window column 'vendor' is text, not an instant"],
        ),
        (Hopping("never", 60, 60, -1), ["window offset of -1 seconds", "window column 'never' is not in source"]),
        (Hopping("pickup_at_us", 60, 30, 30), ["window offset of 30 seconds is not between 0 and the step of 30"]),
        (Hopping("pickup_at_us", 60, 61), ["what lies between two windows would be in none"]),
        (
            Calendar("vendor", "week", "America/Gotham"),  # type: ignore[arg-type]
            [
                "calendar unit 'week' is none of hour, day",
                "time zone 'America/Gotham' is not in the IANA database",
                "window column 'vendor' needs bounds",
                "window column 'vendor' is text, not an instant",
            ],
        ),
        (Calendar("pickup_at_us", Unit.DAY, "../etc/passwd"), ["time zone '../etc/passwd' is not in the IANA"]),
        (Calendar("pickup_at_us", Unit.DAY, ""), ["time zone '' is not in the IANA"]),
        (Calendar("pickup_at_us", Unit.DAY, "America"), ["time zone 'America' is not in the IANA"]),
    ],
    ids=str,
)
def test_a_window_that_means_nothing_is_refused_with_every_mistake_named(window: Window, problems: list[str]) -> None:
    with pytest.raises(DefinitionError) as refused:
        of(window)
    told = refused.value.problems
    assert len(told) == len(problems)
    assert all(problem in one for problem, one in zip(problems, told, strict=True))


def test_a_column_that_stands_for_others_has_the_bounds_of_all_of_them() -> None:
    early = replace(RIDES.by_name["requested_at_us"], low=us("1990-01-01"))
    columns = tuple(early if column.name == early.name else column for column in RIDES.columns)
    at = Coalesce(Column("at_us", Kind.INSTANT, False, 0, 1), ("requested_at_us", "pickup_at_us"))
    source = replace(RIDES, columns=columns, derived=(*RIDES.derived, at))
    view = replace(of(Tumbling("pickup_at_us", 1)), source=source, window=Calendar("at_us", Unit.DAY, NEW_YORK))
    assert view.window.boundaries.instants[0] <= us("1990-01-01")
    assert view.window.boundaries.instants[-1] > us("2099-12-31T23:59")


@pytest.mark.parametrize("bounds", [(None, 0), (0, None), (-(1 << 55), 0), (0, 1 << 57)])
def test_days_need_a_column_whose_instants_have_bounds(bounds: tuple[int | None, int | None]) -> None:
    low, high = bounds
    columns = tuple(replace(c, low=low, high=high) if c.name == "pickup_at_us" else c for c in RIDES.columns)
    with pytest.raises(DefinitionError, match="'pickup_at_us' needs bounds between the years 1800 and 2300"):
        replace(
            of(Tumbling("pickup_at_us", 1)),
            source=replace(RIDES, columns=columns),
            window=Calendar("pickup_at_us", Unit.DAY, NEW_YORK),
        )


def test_every_window_kind_is_a_version_of_its_own_and_an_offset_of_nothing_is_none() -> None:
    column = "pickup_at_us"
    kinds: list[Window] = [
        Tumbling(column, 300),
        Tumbling(column, 300, 60),
        Hopping(column, 300, 300),
        Hopping(column, 300, 100),
        Hopping(column, 300, 100, 60),
        Calendar(column, Unit.HOUR, NEW_YORK),
        Calendar(column, Unit.DAY, NEW_YORK),
        Calendar(column, Unit.DAY, "America/Chicago"),
    ]
    assert len({of(window).version for window in kinds}) == len(kinds)
    assert of(Tumbling(column, 300, 0)).version == of(Tumbling(column, 300)).version


def test_a_zone_whose_clocks_are_changed_otherwise_makes_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    calendar = Calendar("pickup_at_us", Unit.DAY, NEW_YORK)
    before = of(calendar).version
    monkeypatch.setattr(
        "app.domain.windows.calendar.boundaries", lambda unit, _, *ends: boundaries(unit, "America/Regina", *ends)
    )
    assert of(calendar).version != before


def test_the_shipped_views_are_the_versions_they_were() -> None:
    assert (ZONE_DEMAND.version, VENDOR_TRIPS.version) == ("92c20c24", "5b40236a")
