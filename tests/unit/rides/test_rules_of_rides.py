"""The shipped rules of cleanliness: which rides they hold of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.contribution import contribution
from app.domain.records import Record, Value
from app.domain.source import with_derived
from app.domain.view import View
from app.rides.cleanliness import PARTS_OF_TOTAL
from app.rides.ride import RIDE_COLUMNS, RIDES
from app.rides.views import CLEANLINESS, ZONE_DEMAND
from spark_batch.source.read_source import kept_columns

MINUTE_US = 60_000_000
BEGUN_US = 1_767_589_200_000_000


def odd_by(minutes: int | None = 10, **changed: Value) -> set[str]:
    """The rules that hold of a clean ride after these changes; it lasts so many minutes."""
    ride: dict[str, Value] = dict.fromkeys(column.name for column in RIDE_COLUMNS)
    ended_us = None if minutes is None else BEGUN_US + minutes * MINUTE_US
    ride |= {"pickup_at_us": BEGUN_US, "dropoff_at_us": ended_us, "pickup_zone": 132, "dropoff_zone": 263}
    ride |= {"passenger_count": 1, "fare_cents": 999, "tip_cents": 1, "total_cents": 1000}
    values = with_derived(RIDES, ride | {"distance_hundredth_miles": 150} | changed)
    return {rule.name for rule in RIDES.rules if values[rule.name]}


def test_a_clean_ride_and_one_that_says_nothing_are_odd_by_no_rule() -> None:
    assert odd_by() == set()
    assert odd_by(None, **dict.fromkeys(c.name for c in RIDE_COLUMNS if c.nullable)) == set()


@pytest.mark.parametrize(
    ("changed", "rules"),
    [
        ({"minutes": -1}, {"ends_before_begin"}),
        ({"minutes": 0}, {"lasts_no_time"}),
        ({"minutes": 23 * 60}, {"lasts_a_day"}),
        ({"minutes": 23 * 60 - 1}, set()),
        ({"distance_hundredth_miles": 10_001}, {"goes_far"}),
        ({"distance_hundredth_miles": 0}, {"goes_nowhere"}),
        ({"passenger_count": 0}, {"nobody_aboard"}),
        ({"pickup_zone": 264}, {"unknown_zone"}),
        ({"dropoff_zone": 265}, {"unknown_zone"}),
        ({"total_cents": 1001}, {"total_is_no_sum"}),
        ({"fare_cents": -999}, {"negative_fare", "total_is_no_sum"}),
        ({"total_cents": None, "fare_cents": -1}, {"negative_fare"}),
    ],
)
def test_each_rule_holds_of_its_rides_alone(changed: dict[str, int], rules: set[str]) -> None:
    assert odd_by(**changed) == rules  # type: ignore[arg-type]


@pytest.mark.parametrize("part", PARTS_OF_TOTAL)
def test_each_part_of_a_total_counts(part: str) -> None:
    assert odd_by(**{"fare_cents": 0, "tip_cents": 0, "total_cents": 5} | {part: 5}) <= {"goes_nowhere"}


def test_the_view_of_cleanliness_counts_by_every_rule() -> None:
    assert CLEANLINESS.source.rules_in(CLEANLINESS.columns) == RIDES.rules


@pytest.mark.parametrize("view", [ZONE_DEMAND, CLEANLINESS], ids=lambda view: view.name)
def test_what_a_ride_adds_to_a_row_is_known_by_the_columns_that_spark_keeps_for_the_view(view: View) -> None:
    ride = dict.fromkeys(column.name for column in RIDE_COLUMNS) | {"pickup_at_us": BEGUN_US, "fare_cents": -5}
    whole = Record("rides.yellow", 0, 0, BEGUN_US // 1000, ride)
    kept = {name: value for name, value in with_derived(RIDES, ride).items() if name in kept_columns(RIDES, [view])}
    assert contribution(view, replace(whole, values=kept)) == contribution(view, whole)
