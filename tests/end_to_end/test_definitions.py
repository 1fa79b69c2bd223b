"""The definition file of the docs on real parts: a topic of somebody's own, and a view more over the rides."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.base import names
from app.base.settings import Settings
from app.definitions.load import catalogue_of
from tests.support.flow import by_task
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import FLAGFALL, Worker, environment_of, workers
from tests.support.machine.world import assert_exact, covers, messages, worker
from tests.support.material.bike_trips import EXAMPLE, SECOND_US, START_US, write_trips
from tests.support.truth import records_of

TRIPS = 600
CHECKED = ["tips_by_payment", "bike_starts"]
"""Views of the file that are reconciled: one of each source, in one run."""
CLOSED_AT = datetime.fromtimestamp(START_US / SECOND_US + 3 * 86_400, UTC)


@pytest.fixture
def defined(world: Settings) -> Settings:
    return world.model_copy(update={"definitions": EXAMPLE})


def test_a_topic_of_ones_own_is_answered_published_and_reconciled(defined: Settings, tmp_path: Path) -> None:
    catalogue = catalogue_of(defined)
    flagfall(defined, "topics", "create")
    write_trips(defined, TRIPS)
    assert json.loads(flagfall(defined, "schemas", "register", "--json"))["bikes.trips-value"] > 0
    flagfall(defined, "schemas", "check")
    write_rides(defined, 0, 200)
    starts, members = catalogue.view("bike_starts"), catalogue.view("bike_members")
    with workers(defined, tmp_path, 1) as started:
        (one,) = started
        wait_for(lambda: covers(defined, one, members) and covers(defined, one), "it covers all of both", started)
        for group in catalogue.groups:
            assert_exact(defined, started, group.views)
        assert_answers(defined, one)
        flagfall(defined, "advance", "--to", CLOSED_AT.isoformat(), "--group", "bike_trips")
        folded = by_task(starts, records_of(defined, starts.source)).items()
        expected = sum(cells[0] for _, cells in folded)
        wait_for(lambda: finals_of(defined, "bike_starts") >= expected, "all windows are final", started)
        assert finals_of(defined, "bike_starts") == expected
        asked = (word for name in CHECKED for word in ("--view", name))
        told = flagfall(defined, "reconcile", "--worker", one.url, "--output", str(tmp_path), "--json", *asked)
    report = json.loads(told)
    assert report["verdict"] == "MATCH"
    assert [view["view"] for view in report["views"]] == CHECKED
    assert min(view["rows"]["recomputed"] for view in report["views"]) > 0


def test_a_schema_that_does_not_have_the_columns_is_refused_in_words(defined: Settings, tmp_path: Path) -> None:
    write_trips(defined, 0)
    file = tmp_path / "definitions.toml"
    text = EXAMPLE.read_text("utf-8").replace("distance_m", "distance").replace('kind = "flag"', 'kind = "text"')
    file.write_text(text, "utf-8")
    changed = defined.model_copy(update={"definitions": file})
    flagfall(changed, "topics", "create")
    refused = run(changed, "schemas", "register")
    assert refused.returncode == 1
    with worker(changed, tmp_path) as started:
        assert started.ended() != 0
    for said in (refused.stderr, started.log.read_text()):
        assert "bikes.trips-value, version 1: there is no field distance; did you mean 'distance_m'?" in said
        assert "field member: it is boolean, and text columns are read from string" in said
        assert "Traceback" not in said


def assert_answers(settings: Settings, one: Worker) -> None:
    """HTTP and the command line tell the views of the file like any other."""
    listed = {view["name"]: view for view in one.get("/v1/views").json()["data"]}
    assert list(listed) == [view.name for view in catalogue_of(settings).views]
    assert listed["bike_starts"]["source"] == {"name": "bike_trips", "topics": ["bikes.trips"]}
    assert "Row_bike_routes" in one.get("/openapi.json").json()["components"]["schemas"]
    assert "bike_starts" in one.get("/").text
    rows = one.get("/v1/views/bike_starts/rows", station=7, window="1h").json()["data"]
    assert {row["group"]["station"] for row in rows} == {7}
    told = json.loads(flagfall(settings, "query", "bike_members", "--worker", one.url, "--json"))["data"]
    assert [row["group"]["member"] for row in told] == [0, 1]
    assert "bikes.trips-0" in flagfall(settings, "status", "--worker", one.url)


def finals_of(settings: Settings, view: str) -> int:
    """Records in all final rows of a view; AssertionError if a row was published twice."""
    told = [(message.key(), json.loads(message.value())) for message in messages(settings, names.finals_topic(view))]
    assert len({key for key, _ in told}) == len(told)
    return sum(row["count"] for _, row in told)


def flagfall(settings: Settings, *arguments: str) -> str:
    """What a command prints; it must succeed."""
    done = run(settings, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [FLAGFALL, *arguments], env=os.environ | environment_of(settings), capture_output=True, text=True, check=False
    )
