"""New York local time to UTC, on the two nights when it is ambiguous, and in years far away."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from app.rides.new_york import dropoff_to_utc_us, to_utc_us


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def utc(local: dt.datetime | None) -> str | None:
    at_us = pl.select(to_utc_us(pl.lit(local, pl.Datetime("us")))).item()
    return None if at_us is None else shown(at_us)


def dropoff(pickup: str, dropoff: str) -> str:
    pickup_us = to_utc_us(pl.lit(at(pickup), pl.Datetime("us")))
    return shown(pl.select(dropoff_to_utc_us(pl.lit(at(dropoff), pl.Datetime("us")), pickup_us)).item())


def shown(at_us: int) -> str:
    return dt.datetime.fromtimestamp(at_us / 1_000_000, dt.UTC).strftime("%Y-%m-%d %H:%M")


def test_a_pickup_in_the_doubled_hour_is_its_first_occurrence() -> None:
    assert utc(at("2023-11-05 01:30")) == "2023-11-05 05:30"


def test_a_dropoff_in_the_doubled_hour_is_its_first_occurrence_if_that_is_after_the_pickup() -> None:
    assert dropoff("2023-11-05 01:10", "2023-11-05 01:30") == "2023-11-05 05:30"


def test_a_dropoff_in_the_doubled_hour_is_its_second_occurrence_if_the_first_is_before_the_pickup() -> None:
    assert dropoff("2023-11-05 01:50", "2023-11-05 01:10") == "2023-11-05 06:10"


def test_a_dropoff_before_the_pickup_on_any_other_day_stays_before_it() -> None:
    assert dropoff("2023-11-06 01:50", "2023-11-06 01:10") == "2023-11-06 06:10"


def test_a_time_in_the_skipped_hour_moves_one_hour_forward() -> None:
    assert utc(at("2023-03-12 02:30")) == utc(at("2023-03-12 03:30")) == "2023-03-12 07:30"


def test_no_time_stays_no_time() -> None:
    assert utc(None) is None


@given(st.datetimes(at("2000-01-01 00:00"), at("2099-12-31 00:00")))
def test_every_other_time_is_what_the_system_time_zone_says(local: dt.datetime) -> None:
    """Stray years included: the rule of 2007 holds on, past the last year of many tables."""
    zoned = local.replace(tzinfo=ZoneInfo("America/New_York"))
    expected = zoned.astimezone(dt.UTC)
    if expected.astimezone(zoned.tzinfo).replace(tzinfo=None) == local:
        assert utc(local) == expected.strftime("%Y-%m-%d %H:%M")
