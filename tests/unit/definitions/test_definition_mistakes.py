"""The definition file: every mistake is named, with its place, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.definitions.read import read_definitions
from app.domain.errors import DefinitionError
from app.edge.cli.main import cli
from app.rides.shipped import SHIPPED
from tests.support.material.example import EXAMPLE, Read

MISTAKES = [
    ("number = 100\nrecord", "nummer = 100\nrecord", "sources.bike_trips.nummer: there is no such key; did you mean"),
    ("number = 100\nrecord", "record", "sources.bike_trips.number: is missing"),
    ("number = 100\nrecord", "number = 1\nrecord", "sources: bike_trips and rides are both number 1"),
    ("number = 100\nrecord", "number = 0\nrecord", "sources.bike_trips: number 0 is not in 1..65535"),
    ('record = "BikeTrip"', 'record = "bike trip"', "sources.bike_trips: record 'bike trip' is no name of an Avro"),
    ('"bikes.trips" = 100', '"bikes.trips" = 1', "topics: bikes.trips and rides.yellow are both number 1"),
    ('"bikes.trips" = 100', '"rides.fhv" = 100', "topics: two are called 'rides.fhv'"),
    ('"bikes.trips" = 100', '"bikes.trips" = 500', "sources.bike_trips: topic numbers must be distinct, 1 to 127"),
    (
        '"bikes.trips" = 100',
        '"bikes.trips" = "x"',
        "sources.bike_trips.topics.bikes.trips: input should be a valid int",
    ),
    ('{ "bikes.trips" = 100 }', "{}", "sources.bike_trips: it has no topic"),
    ('key = "start_station"', 'key = "station"', "key column 'station' is not among its columns; did you mean"),
    ('= "ended_at_us"\nid', '= "price_cents"\nid', "reported_at column 'price_cents' is integer, not an instant"),
    ('= "ended_at_us"\nid', '= "end_at"\nid', "reported_at column 'end_at' is not among its columns; did you mean"),
    ("skew_seconds = 600", "skew_seconds = -1", "sources.bike_trips.skew_seconds: input should be greater than or"),
    ("skew_seconds = 600", 'skew_seconds = "600"', "sources.bike_trips.skew_seconds: input should be a valid integer"),
    ("skew_seconds = 600", "skew_seconds = 6.5", "sources.bike_trips.skew_seconds: input should be a valid integer"),
    ('{ kind = "flag" }', '{ kind = "bool" }', "sources.bike_trips.columns.member.kind: input should be 'integer', "),
    ('{ kind = "flag" }', "{}", "sources.bike_trips.columns.member.kind: is missing"),
    ('{ kind = "flag" }', '"flag"', "sources.bike_trips.columns.member: expected a table (it is 'flag')"),
    (
        '{ kind = "flag" }',
        '{ kind = "flag", low = 0 }',
        "column 'member': low and high are for numbers, and it is flag",
    ),
    ('{ kind = "flag" }', '{ kind = "flag", nulable = true }', "columns.member.nulable: there is no such key; did you"),
    ("low = 0, high = 200_000", "low = 9, high = 0", "column 'distance_m': low 9 is above high 0"),
    ("low = 0, high = 100_000", "low = 9, high = 0", "column 'price_cents': low 9 is above high 0"),
    ("low = 0, high = 200_000", "low = -9_223_372_036_854_775_808", "do not fit into 64 bits"),
    (
        '{ kind = "instant", help = "bicycle lo',
        '{ kind = "instant", high = 999_999_999_999_999_999, help = "lo',
        "years 3 to 99",
    ),
    ("bike = {", "offset = {", "sources.bike_trips: column 'offset': a record's place is called so"),
    ("bike = {", '"my bike" = {', "sources.bike_trips: column 'my bike': no name of an Avro field"),
    ("bike = {", "Trip_Id = {", "sources.bike_trips: two columns are called 'trip_id'"),
    ('["ended_at_us", "started_at_us"]', '["ended_at", "bike"]', "derived.duration_us: no column 'ended_at'; did you"),
    ('["ended_at_us", "started_at_us"]', '["ended_at_us", "bike"]', "a difference of instant 'ended_at_us' and text"),
    ('["ended_at_us", "started_at_us"]', '["ended_at_us"]', "sources.bike_trips.derived.duration_us.difference.1:"),
    (
        'difference = ["ended_at_us", "started_at_us"]',
        'coalesce = ["bike", "trip_id"]',
        "two or more numbers or instant",
    ),
    ('difference = ["ended_at_us", "started_at_us"]', 'sum = ["bike", "price_cents"]', "it takes two or more integers"),
    ('difference = ["ended_at_us", "started_at_us"]', 'sum = ["price_cents"]', "it takes two or more integers (they a"),
    ('difference = ["ended_at_us", "started_at_us"]', 'column = "bike"', "derived.duration_us.coalesce: is missing"),
    ('difference = ["ended_at_us", "started_at_us"]', 'equals = "A7"', "derived.duration_us.column: is missing"),
    (
        'difference = ["ended_at_us", "started_at_us"]',
        'column = "bike", equals = 7',
        "derived.duration_us: column 'duration_us': 'bike' is text, and never 7",
    ),
    (
        'difference = ["ended_at_us", "started_at_us"]',
        'column = "bike", equals = "no bicycle has a name like this"',
        "'no bicycle has a name like this' has more than 12 bytes",
    ),
    ('"duration_us < 0"', '"duration < 0"', "rules.backwards.when: no column 'duration'; did you mean 'duration_us'?"),
    ('"duration_us < 0"', '"duration_us <"', "sources.bike_trips.rules.backwards.when: 'duration_us <' is not underst"),
    ('"duration_us < 0"', '"trip_id < 0"', "rules.backwards.when: column 'trip_id' is text: it is null or not"),
    ('"duration_us < 0"', "0", "rules.backwards.when: input should be a valid string (it is 0)"),
    (', when = "duration_us < 0"', "", "sources.bike_trips.rules.backwards.when: is missing"),
    ('action = "mark"', 'action = "drop"', "rules.backwards.action: input should be 'count', 'mark' or 'quarantine'"),
    ("round_trip = {", '"round trip" = {', "sources.bike_trips: rule 'round trip': no name of an Avro field"),
    ("round_trip = {", "bike = {", "sources.bike_trips: two columns are called 'bike'"),
    ('["backwards"]', '["backward"]', "views.bike_routes: leaves_out 'backward': no rule of source 'bike_trips'; did"),
    ('["backwards"]', '["round_trip"]', "leaves_out 'round_trip': its action is 'count', only what a rule marks"),
    ('["backwards"]', '"backwards"', "views.bike_routes.leaves_out: input should be"),
    ("[views.bike_starts]\nnumber = 100", "[views.bike_starts]\nnumber = 1", "views: bike_starts and zone_demand are"),
    ("number = 103", "number = 3", "views: tips_by_payment and cleanliness are both number 3"),
    ("[views.tips_by_payment]", "[views.cleanliness]", "views: two are called 'cleanliness'"),
    ("number = 100\nrecord", "number = 2\nrecord", "sources: bike_trips and ride_events are both number 2"),
    ("[views.tips_by_payment]", "[views.vendor_trips]", "views: two are called 'vendor_trips'"),
    ("[views.tips_by_payment]", '[views."tips by payment"]', "name 'tips by payment': it stands in topics and addr"),
    ("number = 103", "number = 0", "views.tips_by_payment: number 0 is not in 1..65535"),
    ("number = 103", "number = 70_000", "views.tips_by_payment: number 70000 is not in 1..65535"),
    ('source = "rides"', 'source = "ride"', "views.tips_by_payment.source: no source is called 'ride'; did you"),
    ('source = "rides"', "sauce = 1", "views.tips_by_payment.source: is missing"),
    ('payment = "payment_type"', 'payment = "pay_type"', "no column 'pay_type' in source 'rides'; did you mean"),
    ('"dropoff_at_us", size', '"fare_cents", size', "window column 'fare_cents' is integer, not an instant"),
    (
        '"dropoff_at_us", size',
        '"dropoff_us", size',
        "window column 'dropoff_us' is not in source 'rides'; did you mean",
    ),
    ("size_seconds = 300 }", "size_seconds = 0 }", "views.bike_starts: window of 0 seconds"),
    ("size_seconds = 300 }", "size_seconds = true }", "views.bike_starts.window.size_seconds: input should be a valid"),
    ("size_seconds = 300 }", "size = 300 }", "views.bike_starts.window.size_seconds: is missing"),
    ("size_seconds = 300 }", "size = 300 }", "views.bike_starts.window.size: there is no such key; there are: column,"),
    ('{ kind = "all_time" }', '{ kind = "alltime" }', "views.bike_members.window.kind: there is no 'alltime'; did you"),
    ('{ kind = "all_time" }', "{}", "views.bike_members.window.kind: is missing; it is one of tumbling, all_time"),
    ('{ kind = "all_time" }', '"all_time"', "views.bike_members.window: expected a table (it is 'all_time')"),
    ('window = { kind = "all_time" }\n', "", "views.bike_members.window: is missing"),
    (
        '{ kind = "all_time" }',
        '{ kind = "all_time" }\ngrace_seconds = 60',
        "views.bike_members.grace_seconds: means nothing where no window ends: all time",
    ),
    (
        "grace_seconds = 900\n",
        "grace_seconds = 900\nrevisable_seconds = 99_999_999_999\n",
        "views.tips_by_payment.revisable_seconds: input should be less",
    ),
    (
        "grace_seconds = 900\n",
        "grace_seconds = 900\nrevisable_seconds = 99_999_999\n",
        "views.tips_by_payment: revisable_seconds is not in 0..retention_seconds",
    ),
    (
        'kind = "tumbling", column = "started_at_us", size_seconds = 300 }',
        'kind = "hopping", column = "started_at_us", size_seconds = 86_400, step_seconds = 1 }',
        "views.bike_starts: 86400 windows would hold each instant, and 10000 may",
    ),
    ("grace_seconds = 900\n", "", "views.tips_by_payment.grace_seconds: is missing"),
    ("grace_seconds = 900", "grace_seconds = -1", "views.tips_by_payment.grace_seconds: input should be greater"),
    (
        "grace_seconds = 900",
        "grace_seconds = 99_999_999_999",
        "views.tips_by_payment.grace_seconds: input should be less",
    ),
    ("measures.fare_cents", "measures.payment", "views.tips_by_payment: the name 'payment' is used twice"),
    ('{ kind = "sum", column = "tip_cents" }', '{ kind = "add" }', "measures.tip_cents.kind: there is no 'add'"),
    ('{ kind = "sum", column = "tip_cents" }', '{ kind = "sum" }', "measures.tip_cents.column: is missing"),
    (
        'column = "tip_cents"',
        'column = "tips"',
        "measure 'tip_cents': no column 'tips' in source 'rides'; did you mean",
    ),
    ('column = "tip_cents"', 'column = "vendor"', "measure 'tip_cents': column 'vendor' is text, measures are over"),
    ('column = "distance_m" }', 'column = "duration_us" }', "column 'duration_us' needs bounds within 2**30"),
    ("low = 0, high = 100_000", "low = 0", "measure 'price_cents': column 'price_cents' needs bounds within 2**30"),
    ("edges = [0, ", "edges = [9, 5, ", "histogram edges must be given in rising order"),
    ("edges = [0, ", 'edges = ["0", ', "views.bike_starts.measures.minutes.edges.0: input should be a valid integer"),
]

TOGETHER = [
    "nummer",
    "'bike trip'",
    "columns.member.nulable",
    "'distance_m': low 9",
    "'my bike'",
    "derived.duration_us: no column",
    "views.bike_starts.window.size_seconds: is missing",
    "window.kind: there is no 'alltime'",
    "grace_seconds: input should be less",
    "measure 'tip_cents': no column 'tips'",
    "'pay_type'",
    "edges must be given",
]


@pytest.mark.parametrize(("old", "new", "problem"), MISTAKES)
def test_a_mistake_is_named_with_its_place(read: Read, old: str, new: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        read(old, new)
    assert any(problem in told for told in refused.value.problems), refused.value.problems


def test_every_mistake_is_named_at_once(tmp_path: Path) -> None:
    text = EXAMPLE.read_text("utf-8")
    chosen = [mistake for mistake in MISTAKES if any(word in mistake[2] for word in TOGETHER)]
    assert len(chosen) == len(TOGETHER)
    for old, new, _ in chosen:
        text = text.replace(old, new, 1)
    file = tmp_path / "definitions.toml"
    file.write_text(text + "\n[wiews]\n", "utf-8")
    with pytest.raises(DefinitionError) as refused:
        read_definitions(file, SHIPPED)
    for problem in [*(problem for _, _, problem in chosen), "wiews: there is no such table; did you mean 'views'?"]:
        assert any(problem in told for told in refused.value.problems), problem


def test_one_mistake_is_told_once(read: Read) -> None:
    for old, new, _ in [MISTAKES[0], MISTAKES[9], MISTAKES[10], MISTAKES[16], MISTAKES[23]]:
        with pytest.raises(DefinitionError) as refused:
            read(old, new)
        assert len(refused.value.problems) <= 2, refused.value.problems


def test_a_mistake_in_a_rule_is_not_told_of_the_views_over_it_again(read: Read) -> None:
    for old, new in (('"duration_us < 0"', '"duration < 0"'), ('action = "mark"', 'action = "drop"')):
        with pytest.raises(DefinitionError) as refused:
            read(old, new)
        assert len(refused.value.problems) == 1, refused.value.problems


def test_a_file_that_is_no_toml_is_refused_with_the_line(read: Read) -> None:
    with pytest.raises(DefinitionError, match=r"no TOML: .*line"):
        read(added="\n[views.bike_starts]\n")


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000, str(1 << 63), f"[{-(1 << 63) - 1}]"])
def test_a_number_of_more_than_64_bits_is_no_toml(read: Read, number: str) -> None:
    with pytest.raises(DefinitionError, match=r"no TOML: .*64 bits"):
        read("number = 100\nrecord", f"number = {number}\nrecord")


@pytest.mark.parametrize("levels", [150, 300, 5000])
def test_a_file_that_is_nested_without_end_is_refused(read: Read, levels: int) -> None:
    with pytest.raises(DefinitionError, match="within one another"):
        read("number = 100\nrecord", f"number = {'[' * levels}{']' * levels}\nrecord")


def test_a_file_that_is_not_there_is_named_with_its_variable(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"No such file.*FLAGFALL_DEFINITIONS"):
        read_definitions(tmp_path / "none.toml", SHIPPED)


def test_check_names_every_mistake_and_ends_with_2(tmp_path: Path) -> None:
    file = tmp_path / "definitions.toml"
    text = EXAMPLE.read_text("utf-8").replace('{ kind = "flag" }', '{ kind = "bool" }')
    file.write_text(text.replace("number = 103", "number = 1"), "utf-8")
    result = CliRunner().invoke(cli, ["views", "check", str(file)])
    assert result.exit_code == 2
    assert "columns.member.kind" in result.output
    assert "tips_by_payment and zone_demand are both number 1" in result.output
    result = CliRunner().invoke(cli, ["views", "check", str(file), "--json"], standalone_mode=False)
    assert (result.return_value, len(json.loads(result.output)["problems"])) == (2, 2)


@pytest.mark.parametrize("name", ["limit", "partition", "stored_from_us"])
def test_check_refuses_a_group_that_could_not_be_asked_for(tmp_path: Path, name: str) -> None:
    file = tmp_path / "definitions.toml"
    file.write_text(EXAMPLE.read_text("utf-8").replace("{ station =", f"{{ {name} ="), "utf-8")
    result = CliRunner().invoke(cli, ["views", "check", str(file)])
    assert f"group {name!r}: a query parameter has that name" in result.output
    assert result.exit_code == 2
