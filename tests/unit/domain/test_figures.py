"""Figures: numbers out of a row's measures, exact quotients, null where there is nothing to tell."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import DefinitionError
from app.domain.figures.contract import Figure
from app.domain.figures.kinds import DifferenceOf, Mean, Quantile, Ratio
from app.domain.measures.kinds import Count, Histogram, Max, Sum
from app.domain.view import Group, View
from app.domain.windows.tumbling import Tumbling
from app.rides.ride import RIDES

MEASURES = (
    Count("rides"),
    Sum("tip", "tip_cents"),
    Max("most", "fare_cents"),
    Histogram("lengths", "duration_us", (0, 10, 20)),
)


def view_of(*figures: Figure) -> View:
    window = Tumbling("pickup_at_us", 300)
    return View(99, "figured", RIDES, (Group("zone", "pickup_zone"),), window, MEASURES, 0, 0, "", figures=figures)


def told(figure: Figure, count: int = 0, **measures: Any) -> Any:
    nothing = {"rides": count, "tip": 0, "tip_values": 0, "most": None, "most_values": 0, "lengths": [0, 0, 0, 0]}
    return view_of(figure).figured(nothing | measures, count)[figure.name]


@given(tip=st.integers(-(2**40), 2**40), values=st.integers(1, 2**31), times=st.integers(1, 1000))
def test_mean_and_ratio_are_the_nearest_double_of_the_exact_quotient(tip: int, values: int, times: int) -> None:
    assert told(Mean("mean", "tip"), tip=tip, tip_values=values) == float(Fraction(tip, values))
    ratio = Ratio("ratio", "tip", "count", times)
    assert told(ratio, count=values, tip=tip) == float(Fraction(times * tip, values))


def test_a_mean_is_over_the_values_that_there_are_and_a_ratio_over_what_it_names() -> None:
    held: dict[str, Any] = {"count": 4, "tip": 6, "tip_values": 2}
    assert (told(Mean("mean", "tip"), **held), told(Ratio("each", "tip", "rides"), **held)) == (3.0, 1.5)


def test_a_difference_is_exact() -> None:
    held: dict[str, Any] = {"count": 1, "most": 2**62 + 1, "most_values": 1, "tip": 2**53}
    assert told(DifferenceOf("d", "most", "tip"), **held) == 2**62 + 1 - 2**53
    assert told(DifferenceOf("d", "most", "tip")) is None


def test_nothing_has_no_figure() -> None:
    assert told(Mean("mean", "tip")) is None
    assert told(Ratio("ratio", "tip", "rides")) is None
    assert told(Ratio("ratio", "most", "rides"), count=1) is None
    assert told(Quantile("half", "lengths", 50)) is None


@pytest.mark.parametrize(
    ("counts", "percent", "expected"),
    [
        ([1, 0, 0, 0], 50, (None, 0)),
        ([1, 1, 0, 0], 50, (None, 0)),
        ([1, 1, 0, 0], 51, (0, 10)),
        ([0, 0, 0, 3], 1, (20, None)),
        ([0, 95, 5, 0], 95, (0, 10)),
        ([0, 94, 6, 0], 95, (10, 20)),
    ],
)
def test_a_quantile_is_the_first_bin_by_which_so_many_are_reached(counts: Any, percent: int, expected: Any) -> None:
    assert told(Quantile("q", "lengths", percent), lengths=counts) == expected


@given(values=st.lists(st.integers(-5, 30), min_size=1), percent=st.integers(1, 99))
def test_the_value_that_is_looked_for_lies_in_the_bin(values: list[int], percent: int) -> None:
    counts = [sum(low <= v < high for v in values) for low, high in ((-99, 0), (0, 10), (10, 20), (20, 99))]
    low, high = told(Quantile("q", "lengths", percent), lengths=counts)
    nearest = sorted(values)[-(-percent * len(values) // 100) - 1]
    assert low is None or low <= nearest
    assert high is None or nearest < high


@pytest.mark.parametrize(
    ("figure", "problem"),
    [
        (Mean("m", "tips"), "figure 'm': there is no measure 'tips'; did you mean 'tip'?"),
        (Mean("m", "most"), "figure 'm': 'most' is a max, a mean is of a sum"),
        (Mean("m", "lengths"), "figure 'm': 'lengths' is a histogram, a mean is of a sum"),
        (Ratio("r", "tip", "ride"), "figure 'r': there is no value 'ride'; did you mean 'rides'?"),
        (Ratio("r", "lengths", "rides"), "figure 'r': 'lengths' is a list, a ratio is of numbers"),
        (Ratio("r", "tip", "rides", 0), "figure 'r': times 0 is not in 1..1000000000"),
        (DifferenceOf("d", "tip", "lengths"), "figure 'd': 'lengths' is a list, a difference is of numbers"),
        (Quantile("q", "tip", 50), "figure 'q': 'tip' is a sum, a quantile is of a histogram"),
        (Quantile("q", "length", 50), "figure 'q': there is no measure 'length'; did you mean 'lengths'?"),
        (Quantile("q", "lengths", 100), "figure 'q': percent 100 is not in 1..99"),
        (Mean("tip", "tip"), "the name 'tip' is used twice"),
        (Mean("zone", "tip"), "the name 'zone' is used twice"),
    ],
)
def test_a_figure_that_cannot_be_is_refused_in_words(figure: Figure, problem: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        view_of(figure)
    assert caught.value.problems == (problem,)


def test_figures_are_in_no_version_of_a_view() -> None:
    assert view_of(Mean("m", "tip")).version == view_of().version
