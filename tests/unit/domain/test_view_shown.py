"""What a view's row holds, and what users see of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.fingerprint import INT64_MAX, INT64_MIN
from app.domain.measures.kinds import Count, First, Histogram, Last, Max, Min, Sum
from tests.support.material.trip_view import VIEW


def test_cells_come_in_the_order_of_the_definition_behind_count_and_fingerprint() -> None:
    view = replace(
        VIEW,
        measures=(
            Count("trips"),
            Sum("fares", "cents"),
            Max("most", "people"),
            First("first", "people"),
            Histogram("bins", "people", (1, 4)),
            Last("last", "cents"),
        ),
    )
    assert view.cells == (
        "count", "fingerprint",
        "fares", "fares_values",
        "most",
        "first_at", "first_origin", "first",
        "bins_0", "bins_1", "bins_2",
        "last_at", "last_origin", "last", "last_values",
    )  # fmt: skip
    assert len(view.neutral) == len(view.cells)


def test_bins_are_open_at_both_ends_and_leave_no_gap() -> None:
    view = replace(VIEW, measures=(Histogram("bins", "people", (1, 4)),))
    assert [(part.low, part.high) for part in view.parts[2:]] == [(None, 1), (1, 4), (4, None)]


def shown(measure: object, *cells: int) -> dict[str, object]:
    view = replace(VIEW, measures=(measure,))
    return view.present((5, 0, *cells))


def test_a_count_is_shown_under_its_own_name() -> None:
    assert shown(Count("trips")) == {"trips": 5}


@pytest.mark.parametrize(
    ("measure", "neutral"),
    [
        (Min("it", "cents"), (INT64_MAX,)),
        (Max("it", "cents"), (INT64_MIN,)),
        (First("it", "cents"), (INT64_MAX,) * 3),
        (Last("it", "cents"), (INT64_MIN,) * 3),
    ],
)
def test_an_extreme_of_no_values_is_null_and_never_the_cell_that_stands_for_it(
    measure: object, neutral: tuple[int, ...]
) -> None:
    assert shown(measure, *neutral, 0) == {"it": None, "it_values": 0}


def test_an_extreme_that_equals_the_neutral_cell_is_shown_where_there_was_a_value() -> None:
    assert shown(Max("it", "cents"), INT64_MIN, 1) == {"it": INT64_MIN, "it_values": 1}


def test_a_sum_of_no_values_is_zero() -> None:
    assert shown(Sum("it", "cents"), 0, 0) == {"it": 0, "it_values": 0}


def test_a_measure_over_a_column_without_nulls_has_no_count_of_values() -> None:
    assert shown(Max("it", "people"), 3) == {"it": 3}


def test_a_first_is_shown_without_its_stamp() -> None:
    assert shown(First("it", "people"), 1_000, 77, 3) == {"it": 3}


def test_a_histogram_is_a_list_with_both_open_bins_even_when_empty() -> None:
    assert shown(Histogram("bins", "cents", (0, 10)), 0, 0, 0) == {"bins": [0, 0, 0]}
    assert shown(Histogram("bins", "cents", (0, 10)), 1, 2, 3) == {"bins": [1, 2, 3]}


def test_a_row_of_another_width_is_not_shown_at_all() -> None:
    with pytest.raises(ValueError, match="a row of 2 cells"):
        VIEW.present((1, 2))
