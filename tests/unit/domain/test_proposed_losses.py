"""A schema that workers could read, and of which figures would still be without something: said before it is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.base.settings import Settings
from app.codecs.avro.record_schema import record_schema
from app.definitions import proposed
from app.definitions.load import catalogue_of
from app.definitions.losses import losses
from app.domain.catalogue import Catalogue, TaskGroup
from app.domain.source import Source
from app.edge.cli.main import run
from app.rides.lifecycle.sources import FARES, RIDE_EVENTS
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.material.schemas.ride import OWN, with_type, without

RENAMED = without("vendor") | {"fields": [*without("vendor")["fields"], {"name": "supplier", "type": "string"}]}


def told(source: Source, declared: dict[str, Any], **settings: Any) -> list[str]:
    return list(losses(catalogue_of(Settings.load(**settings)), source, declared))


class Takes:
    """A registry that would take any schema."""

    def __init__(self, settings: Settings) -> None: ...

    def accepts(self, subject: str, schema: Any) -> bool:
        return True

    def versions(self, subject: str) -> list[Any]:
        return []


def test_our_own_schema_loses_nothing() -> None:
    assert told(RIDES, OWN) == []


def test_a_column_that_is_not_written_is_told_with_the_views_that_use_it() -> None:
    two = Catalogue((TaskGroup((RIDES,), (ZONE_DEMAND, VENDOR_TRIPS)),))
    assert [*losses(two, RIDES, RENAMED)] == ["workers would read null for vendor, by which vendor_trips groups"]
    (tips,) = losses(two, RIDES, without("tip_cents"))
    assert tips.startswith("workers would read null for tip_cents, of which zone_demand measures tip_cents")
    assert [*losses(two, RIDES, with_type("dispatching_base", "null"))] == [
        "workers would read null for dispatching_base, which nothing uses"
    ]


def test_a_column_is_used_through_what_is_made_of_it_too() -> None:
    (said,) = told(RIDES, without("dropoff_at_us"), cleanliness=True)
    for use in (
        "of which reported_at_us is made, the time of watermarks",
        "of which zone_demand measures longest_us and duration_minutes",
        "about which rules ends_before_begin and ",
        "of which cleanliness measures ",
    ):
        assert use in said


def test_joins_alerts_and_branches_use_columns_as_views_do() -> None:
    (said,) = told(RIDES, without("total_cents"), branches=True)
    assert "by which the branch amounts sends on" in said
    fares = record_schema(FARES)
    gone = [column.name for column in FARES.columns if column.nullable]
    said = " ".join(
        told(FARES, fares | {"fields": [f for f in fares["fields"] if f["name"] not in gone]}, lifecycle=True)
    )
    assert "which fared_starts carries on" in said
    events = record_schema(RIDE_EVENTS)
    zone = events | {"fields": [f for f in events["fields"] if f["name"] != "zone"]}
    assert "fared_starts" in " ".join(told(RIDE_EVENTS, zone, lifecycle=True))


def test_a_branch_that_no_column_takes_is_told_with_what_becomes_of_its_values() -> None:
    assert told(RIDES, with_type("tip_cents", ["null", "double"])) == [
        "workers would quarantine each record whose tip_cents is double, as undecodable"
    ]
    assert told(RIDES, with_type("ride_id", ["null", "string"])) == [
        "workers would quarantine each record whose ride_id is null, as out_of_bounds:ride_id"
    ]


@pytest.mark.parametrize(("declared", "code"), [(OWN, 0), (RENAMED, 3), (without("ride_id"), 1)])
def test_the_exit_code_tells_a_loss_from_a_no(
    declared: Any, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(proposed, "Registry", Takes)
    file = tmp_path / "ride.avsc"
    file.write_text(json.dumps(declared))
    assert run(["schemas", "check", str(file), "--topic", "rides.yellow"]) == code
    said = capsys.readouterr().out
    assert "the registry would take it" in said
    assert ("would read null for vendor" in said) == (code == 3)
    assert run(["schemas", "check", str(file), "--topic", "rides.yellow", "--json"]) == code
    assert bool(json.loads(capsys.readouterr().out)["losses"]) == (code == 3)
