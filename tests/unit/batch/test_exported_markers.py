"""What the marker of an export says before its rows are believed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.codecs.stored.export import ExportMetadata
from app.domain.marker import BUILDING, Marker, ViewPosition
from app.rides.shipped import SHIPPED
from app.rides.views import ZONE_DEMAND
from spark_batch.errors import Inconclusive, Invalid
from spark_batch.stored.export_client import check_marker

GROUP = SHIPPED.groups[0]
HELD = ViewPosition(ZONE_DEMAND.number, ZONE_DEMAND.version)


def exported(**views: ViewPosition) -> ExportMetadata:
    marker = Marker("flagfall", GROUP.number, 2, 9, {}, views)
    return ExportMetadata(ZONE_DEMAND.name, ZONE_DEMAND.version, 2, marker, 100, 0, 0)


def test_an_export_whose_marker_holds_the_view_is_taken() -> None:
    check_marker(GROUP, ZONE_DEMAND, 2, exported(zone_demand=HELD))


@pytest.mark.parametrize(
    ("views", "there"),
    [({}, "not there"), ({"zone_demand": replace(HELD, version="0a1b2c3d")}, "0a1b2c3d there")],
    ids=["not declared", "another version"],
)
def test_amid_a_switch_nothing_is_said_of_the_figures(views: dict[str, ViewPosition], there: str) -> None:
    with pytest.raises(Inconclusive, match=f"partition 2: zone_demand is {there}, here it is {ZONE_DEMAND.version}: "):
        check_marker(GROUP, ZONE_DEMAND, 2, exported(**views))


def test_a_view_that_is_being_built_has_no_verdict_yet() -> None:
    with pytest.raises(Inconclusive, match="zone_demand partition 2 is still building"):
        check_marker(GROUP, ZONE_DEMAND, 2, exported(zone_demand=replace(HELD, state=BUILDING)))


def test_a_worker_that_mixes_up_its_tasks_is_not_believed() -> None:
    with pytest.raises(Invalid, match="mixed up its tasks"):
        check_marker(GROUP, ZONE_DEMAND, 1, exported(zone_demand=HELD))
