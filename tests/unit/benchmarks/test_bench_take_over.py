"""What counts as the same answer after a take-over as before it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from benchmarks.take_over.__main__ import spreads
from benchmarks.take_over.answers import awaited, differences

ROWS: list[dict[str, Any]] = [
    {"window": {"start": "2026-01-05T05:00:00Z"}, "group": {"zone": zone}, "count": 2, "fingerprint": f"0{zone}"}
    for zone in (1, 2)
]
BEFORE = {
    "data": ROWS,
    "meta": {
        "position": {"rides.yellow-0": 7},
        "watermark": {"rides.yellow-0": None},
        "as_of": None,
        "version": "5f",
        "lag_records": {"rides.yellow-0": 0},
    },
}


def test_an_equal_answer_has_no_difference_and_how_far_the_log_goes_is_none() -> None:
    after = deepcopy(BEFORE)
    after["meta"]["lag_records"] = {"rides.yellow-0": None}  # type: ignore[call-overload]
    assert differences(BEFORE, after) == []


def test_the_same_rows_in_another_order_are_the_same() -> None:
    assert differences(BEFORE, {**BEFORE, "data": ROWS[::-1]}) == []


@pytest.mark.parametrize(
    "rows", [ROWS[:1], [ROWS[0], {**ROWS[1], "fingerprint": "03"}], [*ROWS, {**ROWS[0], "group": {"zone": 3}}]]
)
def test_a_row_that_is_lost_altered_or_made_up_is_named(rows: list[dict[str, Any]]) -> None:
    (told,) = differences(BEFORE, {**BEFORE, "data": rows})
    assert told.startswith("row {'start': '2026-01-05T05:00:00Z'} {'zone': ")


def test_another_position_is_named() -> None:
    after = deepcopy(BEFORE)
    after["meta"]["position"] = {"rides.yellow-0": 6}  # type: ignore[call-overload]
    assert differences(BEFORE, after) == ["position was {'rides.yellow-0': 7}, is {'rides.yellow-0': 6}"]


def test_times_of_all_runs_become_median_minimum_and_maximum_and_counts_do_not() -> None:
    runs = [{"seconds": seconds, "noticed_seconds": 1.0, "rows": 5} for seconds in (3.0, 1.0, 2.0)]
    assert spreads(runs) == {
        "seconds": {"median": 2.0, "min": 1.0, "max": 3.0},
        "noticed_seconds": {"median": 1.0, "min": 1.0, "max": 1.0},
    }


def test_what_is_looked_for_is_given_as_soon_as_it_is_there() -> None:
    assert awaited(iter([1]).__next__, "one") == 1
