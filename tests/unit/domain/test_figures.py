"""Figures: numbers out of a row's measures, exact quotients, null where there is nothing to tell."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.column import NumberUnit
from app.domain.errors import DefinitionError
from app.domain.figures.contract import Figure, units
from app.domain.figures.kinds import DifferenceOf, Mean, Quantile, Ratio
from app.domain.measures.contract import Measure
from app.domain.measures.kinds import Count, First, Histogram, Last, Max, Min, Sum
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


@pytest.mark.parametrize("kind", [Min, Max, First, Last])
@pytest.mark.parametrize("name", ["latest_us", "at", "of_cents"])
def test_a_value_of_an_instant_is_an_instant_whatever_it_is_called(kind: type[Max], name: str) -> None:
    assert unit_told(kind(name, "pickup_at_us")) is NumberUnit.INSTANT


@pytest.mark.parametrize(
    ("measure", "unit"),
    [
        (Count("kept_us"), None),
        (Sum("most", "tip_cents"), NumberUnit.CENTS),
        (Max("longest", "duration_us"), NumberUnit.MICROSECONDS),
        (Max("longest_cents", "duration_us"), NumberUnit.MICROSECONDS),
        (Sum("distance", "distance_hundredth_miles"), NumberUnit.HUNDREDTH_MILES),
        (Max("last_cents", "pickup_zone"), None),
        (Sum("sharing_cents", "passenger_count"), NumberUnit.CENTS),
        (Histogram("lengths_us", "duration_us", (0,)), None),
    ],
)
def test_any_other_measure_is_in_the_unit_that_its_column_or_else_itself_names(
    measure: Measure, unit: NumberUnit | None
) -> None:
    assert unit_told(measure) is unit


@pytest.mark.parametrize(
    ("figure", "unit"),
    [
        (Mean("mean", "tip_cents"), NumberUnit.CENTS),
        (DifferenceOf("length", "last_us", "first_us"), NumberUnit.MICROSECONDS),
        (DifferenceOf("begun_us", "last_us", "longest"), NumberUnit.INSTANT),
        (DifferenceOf("more", "tip_cents", "fare"), NumberUnit.CENTS),
        (DifferenceOf("odd", "tip_cents", "rides"), None),
        (Ratio("rate", "tip_cents", "fare"), None),
        (Ratio("each_cents", "tip_cents", "count"), NumberUnit.CENTS),
        (Quantile("half_us", "lengths", 50), NumberUnit.MICROSECONDS),
    ],
)
def test_a_figure_is_in_the_unit_that_it_is_made_of_or_names(figure: Figure, unit: NumberUnit | None) -> None:
    measures = (
        *(Count("rides"), Sum("tip_cents", "tip_cents"), Sum("fare", "fare_cents"), Max("longest", "duration_us")),
        *(Min("first_us", "pickup_at_us"), Max("last_us", "pickup_at_us"), Histogram("lengths", "duration_us", (0,))),
    )
    assert units(measures, (figure,), RIDES)[figure.name] is unit


def unit_told(measure: Measure) -> NumberUnit | None:
    return units((measure,), (), RIDES)[measure.name]
