"""Views that could not be told by their names, or whose columns would hide one another, are not served."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.errors import DefinitionError
from app.domain.figures.kinds import Quantile
from app.domain.measures.kinds import Count, Histogram
from app.domain.view import Group, View
from app.edge.http.query.served_names import check_names
from app.rides.questions import QUESTIONS
from app.rides.shipped import SHIPPED
from app.rides.views import ZONE_DEMAND

PLAIN = replace(ZONE_DEMAND, figures=(), measures=(Count("rides"),))
BINS = Histogram("minutes", "duration_us", (0, 60_000_000), "by length")


def refusals(*views: View) -> list[str]:
    with pytest.raises(DefinitionError) as refused:
        check_names(views)
    return list(refused.value.problems)


def test_what_flagfall_brings_is_served() -> None:
    check_names([*SHIPPED.views, *QUESTIONS])


@pytest.mark.parametrize("name", ["zones", "Zones"])
def test_no_view_is_called_as_the_table_of_names(name: str) -> None:
    assert refusals(replace(PLAIN, name=name)) == [
        f"view {name!r}: SQL's table of the names of zones is called so; choose another name"
    ]


def test_no_two_views_are_alike_but_for_case() -> None:
    assert refusals(PLAIN, replace(PLAIN, number=99, name="Zone_Demand")) == [
        "views 'zone_demand' and 'Zone_Demand': SQL knows no case, to it they are one; choose another name"
    ]


@pytest.mark.parametrize("name", ["stored_from_us", "limit", "from"])
def test_no_group_is_called_as_a_parameter(name: str) -> None:
    told = refusals(replace(PLAIN, groups=(Group(name, "pickup_zone"),)))
    assert told == [f"view 'zone_demand': group {name!r}: a query parameter has that name"]


@pytest.mark.parametrize("name", ["zone_name", "Zone_Borough"])
def test_nothing_is_called_as_the_name_of_a_zone_beside_it(name: str) -> None:
    told = refusals(replace(PLAIN, measures=(Count(name),)))
    assert told == [f"view 'zone_demand': {name.lower()!r} is a column of its tables already"]


def test_nothing_is_called_as_the_end_of_a_bin() -> None:
    median = Quantile("median", "minutes", 50, "in which bin the median is")
    told = refusals(replace(PLAIN, measures=(BINS, Count("median_to")), figures=(median,)))
    assert told == ["view 'zone_demand': 'median_to' is a column of its tables already"]
