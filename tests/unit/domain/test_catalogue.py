"""What an application consists of: sources and views whose numbers, names and topics are used once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.catalogue import Catalogue, TaskGroup
from app.domain.errors import DefinitionError
from app.domain.source import SourceTopic
from app.domain.windows.session import Session
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND

RIDES_VIEWS = (ZONE_DEMAND, VENDOR_TRIPS)
RIDES_ALONE = Catalogue((TaskGroup((RIDES,), RIDES_VIEWS),))
OTHER = replace(RIDES, number=2, name="other", topics=(SourceTopic(100, "other"),))
OVER_OTHER = replace(VENDOR_TRIPS, number=100, name="other_trips", source=OTHER)


def test_a_new_source_begins_a_group_and_a_view_joins_that_of_its_source() -> None:
    more = replace(VENDOR_TRIPS, number=101, name="trips_again")
    groups = RIDES_ALONE.extended([OTHER], [OVER_OTHER, more]).groups
    assert [(group.name, group.views) for group in groups] == [
        ("rides", (*RIDES_VIEWS, more)),
        ("other", (OVER_OTHER,)),
    ]


def test_views_with_windows_that_end_publish_finals() -> None:
    shifts = replace(ZONE_DEMAND, number=102, name="shifts", window=Session("pickup_at_us", 1800), revisable_seconds=0)
    total = replace(VENDOR_TRIPS, number=103, name="total")
    assert RIDES_ALONE.finals == (ZONE_DEMAND,)
    assert RIDES_ALONE.extended([], [shifts, total]).finals == (ZONE_DEMAND, shifts)


def test_a_view_or_group_that_is_not_there_is_answered_with_those_that_are() -> None:
    assert RIDES_ALONE.view("zone_demand") is ZONE_DEMAND
    with pytest.raises(KeyError, match="no view 'zone_demands'; there are: zone_demand, vendor_trips; did you mean"):
        RIDES_ALONE.view("zone_demands")
    with pytest.raises(KeyError, match="no task group 'cabs'; there are: rides"):
        RIDES_ALONE.group("cabs")


@pytest.mark.parametrize(
    ("source", "view", "problem"),
    [
        (OTHER, replace(OVER_OTHER, number=1), "views: other_trips and zone_demand are both number 1"),
        (OTHER, replace(OVER_OTHER, name="zone_demand"), "views: two are called 'zone_demand'"),
        (replace(OTHER, number=1), None, "sources: other and rides are both number 1"),
        (replace(OTHER, name="rides"), None, "sources: two are called 'rides'"),
        (replace(OTHER, topics=(SourceTopic(4, "other"),)), None, r"topics: other and rides\.hvfhv are both number 4"),
        (replace(OTHER, topics=(SourceTopic(9, "rides.fhv"),)), None, r"topics: two are called 'rides\.fhv'"),
    ],
)
def test_numbers_names_and_topics_are_never_shared(source: object, view: object, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        RIDES_ALONE.extended([source], [view] if view else [])  # type: ignore[list-item]


def test_a_view_over_a_source_that_is_not_there_is_refused() -> None:
    with pytest.raises(DefinitionError, match="view 'other_trips' is over source 'other'"):
        RIDES_ALONE.extended([], [OVER_OTHER])


def test_every_clash_is_named_at_once() -> None:
    group = TaskGroup((RIDES,), (ZONE_DEMAND, ZONE_DEMAND))
    with pytest.raises(DefinitionError) as refused:
        Catalogue((group, group))
    assert len(refused.value.problems) > 5
