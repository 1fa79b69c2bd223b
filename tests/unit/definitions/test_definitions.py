"""The definition file: the example of the docs is what it says, and its page tells of all that it may say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.base.settings import Settings
from app.definitions.load import catalogue_of
from app.definitions.registered import value_schemas
from app.definitions.rules import RuleShape
from app.definitions.shapes import shape_of
from app.definitions.sources import ColumnShape, SourceShape
from app.definitions.views import ViewShape
from app.domain.catalogue import Catalogue
from app.domain.errors import DefinitionError
from app.domain.figures.kinds import FIGURES, Mean, Quantile, Ratio
from app.domain.measures.kinds import MEASURES, Count, Histogram, Max, Sum
from app.domain.source import Action, Column, Difference, Kind, Rule
from app.domain.view import Group
from app.domain.windows.all_time import AllTime
from app.domain.windows.kinds import KINDS
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.edge.cli.main import cli
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.topics import topics
from tests.support.material.example import EXAMPLE, Read

PAGE = EXAMPLE.with_name("definitions.md")


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return catalogue_of(Settings.load(definitions=EXAMPLE))


def test_without_a_file_there_is_what_is_shipped() -> None:
    assert catalogue_of(Settings.load()) == SHIPPED


def test_the_source_of_the_example_is_as_it_is_written(catalogue: Catalogue) -> None:
    trips = catalogue.group("bike_trips").sources[0]
    assert (trips.number, trips.record, trips.skew_seconds) == (100, "BikeTrip", 600)
    assert [(topic.number, topic.name) for topic in trips.topics] == [(100, "bikes.trips")]
    assert trips.by_name["end_station"] == Column("end_station", Kind.IDENTIFIER, True, 1, 9_999)
    assert trips.by_name["ended_at_us"].low == RIDES.by_name["pickup_at_us"].low
    (duration,) = trips.derived
    assert duration == Difference(duration.column, "ended_at_us", "started_at_us")
    assert not duration.column.nullable


def test_the_rules_of_the_example_are_as_they_are_written(catalogue: Catalogue) -> None:
    backwards, round_trip, endless = catalogue.group("bike_trips").sources[0].rules
    assert backwards == Rule("backwards", Action.MARK, "duration_us < 0", "the stations' clocks disagree")
    assert (round_trip.action, endless.action) == (Action.COUNT, Action.QUARANTINE)
    assert catalogue.view("bike_routes").leaves_out == ("backwards",)


def test_the_views_of_the_example_are_as_they_are_written(catalogue: Catalogue) -> None:
    starts = catalogue.view("bike_starts")
    assert (starts.number, starts.grace_seconds, starts.retention_seconds) == (100, 7_200, 34_560_000)
    assert starts.groups == (Group("station", "start_station"),)
    assert starts.window == Tumbling("started_at_us", 300)
    assert starts.measures[:2] == (
        Count("trips", "trips begun"),
        Sum("price_cents", "price_cents", "prices charged"),
    )
    assert starts.measures[3] == Max("longest_us", "duration_us")
    assert starts.measures[4] == Histogram("minutes", "duration_us", (0, 600_000_000, 1_800_000_000, 3_600_000_000))
    assert starts.figures == (
        Mean("mean_price_cents", "price_cents"),
        Ratio("cents_per_km", "price_cents", "distance_m", 1_000),
        Quantile("median_us", "minutes", 50),
    )
    assert catalogue.view("bike_members").window == AllTime()


def test_a_view_over_the_rides_joins_their_tasks_and_changes_none_of_their_views(catalogue: Catalogue) -> None:
    rides = catalogue.group("rides")
    *before, added = rides.views
    assert (tuple(before), added.name) == (SHIPPED.group("rides").views, "tips_by_payment")


def test_topics_and_schemas_follow_the_file(catalogue: Catalogue) -> None:
    settings = Settings.load(app_id="cabs")
    names = [topic.name for topic in topics(settings, catalogue)]
    own = {"bikes.trips", "cabs-bike_trips-changelog", "cabs.bike_trips.advance-requests", "windows.bike_starts"}
    assert own < set(names)
    assert len(set(names)) == len(names)
    schema = value_schemas(catalogue)["bikes.trips-value"]
    assert {"name": "end_station", "type": ["null", "long"], "default": None, "doc": ""} in schema["fields"]


def test_a_topic_that_the_application_writes_is_no_source(read: Read) -> None:
    clashing = read('"bikes.trips" = 100', '"windows.zone_demand" = 100')
    with pytest.raises(DefinitionError, match=r"windows\.zone_demand"):
        topics(Settings.load(), clashing)


def test_sessions_are_read(read: Read) -> None:
    window = 'window = { kind = "session", column = "ended_at_us", gap_seconds = 300 }'
    session = read('window = { kind = "tumbling", column = "ended_at_us", size_seconds = 3_600 }', window)
    assert session.view("bike_routes").window == Session("ended_at_us", 300)


def test_the_page_explains_every_key_and_kind() -> None:
    page = PAGE.read_text("utf-8")
    shapes = (
        SourceShape,
        ColumnShape,
        RuleShape,
        ViewShape,
        *(shape_of(made, ("name",)) for made in (*MEASURES.values(), *FIGURES.values())),
    )
    keys = {key for shape in shapes for key in shape.model_fields} | {
        "window",
        "measures",
        "figures",
        "difference",
        "coalesce",
        "rules",
    }
    windows = {key for made in KINDS.values() for key in shape_of(made, ()).model_fields}
    assert keys | windows | set(KINDS) | set(MEASURES) | set(FIGURES) | set(Kind) | set(Action) <= told_as_code(page)


def test_the_page_tells_how_long_definitions_are() -> None:
    lines: dict[str, list[int]] = {"views": [], "sources": []}
    for line in EXAMPLE.read_text("utf-8").splitlines():
        if line.startswith("["):
            what, *below = line.strip("[]").split(".")
            if len(below) == 1:
                lines[what].append(0)
        if line and not line.startswith("#"):
            lines[what][-1] += 1
    of_views, of_sources = lines["views"], lines["sources"]
    told = f"A view takes {min(of_views)} to {max(of_views)} lines, the source of nine columns {of_sources[0]}."
    assert told in PAGE.read_text("utf-8")


def told_as_code(page: str) -> set[str]:
    """Words between backticks, those of longer pieces of code among them."""
    return {word for code in page.split("`")[1::2] for word in re.findall(r"[a-z_]+", code)}


def test_check_says_what_a_sound_file_adds() -> None:
    result = CliRunner().invoke(cli, ["views", "check", str(EXAMPLE)])
    assert result.exit_code == 0
    assert "source  bike_trips: bikes.trips" in result.output
    assert "over rides: 3600 s by dropoff_at_us" in result.output


def test_sessions_of_the_file_are_described_with_their_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "definitions.toml"
    window = '{ kind = "session", column = "ended_at_us", gap_seconds = 300 }'
    tumbling = '{ kind = "tumbling", column = "ended_at_us", size_seconds = 3_600 }'
    file.write_text(EXAMPLE.read_text("utf-8").replace(tumbling, window), "utf-8")
    monkeypatch.setenv("FLAGFALL_DEFINITIONS", str(file))
    assert "sessions of ended_at_us, gap 300 s" in CliRunner().invoke(cli, ["views", "describe", "bike_routes"]).output


def test_commands_know_the_views_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAGFALL_DEFINITIONS", str(EXAMPLE))
    listed = CliRunner().invoke(cli, ["views", "list", "--json"], catch_exceptions=False)
    shipped = {view.name for view in SHIPPED.views}
    added = [name for view in json.loads(listed.output) if (name := view["view"]) not in shipped]
    assert added == ["tips_by_payment", "bike_starts", "bike_routes", "bike_members"]
    assert "longest_us" in CliRunner().invoke(cli, ["views", "describe", "bike_starts"]).output
    assert "bikes.trips " in CliRunner().invoke(cli, ["topics", "list"]).output
    assert "BikeTrip" in CliRunner().invoke(cli, ["schemas", "list"]).output
