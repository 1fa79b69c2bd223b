"""What Connect and PostgreSQL are told of a view's finals."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from app.domain.column import Kind
from app.domain.errors import DefinitionError
from app.domain.view import Group, View
from app.edge.cli.tables.connect import command
from app.edge.connectors.address import jdbc_url
from app.edge.connectors.columns import final_columns, table_name
from app.edge.connectors.postgres import table_statements
from app.edge.connectors.sink import sink
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.questions import QUESTIONS
from app.rides.ride import RIDE_COLUMNS, RIDES
from app.rides.views import ZONE_DEMAND
from app.testkit.harness import Harness

DATABASE = "postgresql://taxi@127.0.0.1:5433/taxi"
LEFT_OUT = {"cells", "positions"}
"""Fields of finals that a table does not have: stored cells, and offsets by task and topic."""
TYPES = {"int64": int, "string": str, "array": list}
FOREVER_US = 4_000_000_000_000_000


def rides(count: int) -> list[dict[str, Any]]:
    frame = Generator(seed=3, dirt=Dirt.none()).rides(0, count).select([column.name for column in RIDE_COLUMNS])
    return frame.to_dicts()


WITH_FINALS = [view for view in (ZONE_DEMAND, *QUESTIONS) if view.window.ends]


@pytest.mark.parametrize("view", WITH_FINALS, ids=lambda view: view.name)
def test_finals_have_these_fields_and_no_others_of_these_types(view: View) -> None:
    kit = Harness(finals=[view])
    kit.send_all(RIDES.topics[0].name, rides(50))
    for topic in RIDES.topics:
        kit.advance_watermark(topic.name, FOREVER_US)
    told = kit.finals(view)
    assert told, "all windows are closed"
    columns = {column.name: column for column in final_columns(view)}
    for final in told:
        assert set(final) - LEFT_OUT == set(columns)
        for name, value in final.items():
            if name in columns and value is not None:
                assert isinstance(value, TYPES[columns[name].type.value]), name
        assert all(final[name] is not None for name, column in columns.items() if column.is_always)


def test_the_sink_takes_the_fields_of_the_table_and_knows_a_final_by_its_key_and_revision() -> None:
    told = sink(ZONE_DEMAND, "demand", DATABASE, "demand", tasks=2)
    schema = json.loads(told["value.converter.schema.content"])
    assert [field["field"] for field in schema["fields"]] == [column.name for column in final_columns(ZONE_DEMAND)]
    assert told["primary.key.fields"] == "version,window_start_us,zone,revision"
    assert (told["topics"], told["insert.mode"], told["tasks.max"]) == ("windows.zone_demand", "upsert", "2")
    assert (told["connection.url"], told["connection.username"]) == ("jdbc:postgresql://127.0.0.1:5433/taxi", "taxi")
    assert all(type(value) is str for value in told.values()), "Connect takes text alone"


def test_what_a_later_version_of_a_view_may_lack_may_be_null_and_what_all_finals_have_may_not() -> None:
    made = table_statements(ZONE_DEMAND, "demand")
    assert '"fare_cents" bigint,' in made
    assert '"zone" bigint,' in made
    assert '"revision" bigint not null,' in made
    assert 'unique nulls not distinct ("version", "window_start_us", "zone", "revision")' in made


def test_a_group_of_text_is_a_column_of_text() -> None:
    column = next(column.name for column in RIDES.columns if column.kind is Kind.TEXT)
    view = replace(ZONE_DEMAND, groups=(Group("place", column),))
    assert '"place" text,' in table_statements(view, "demand")


def test_names_that_sql_or_connect_would_take_for_something_else_are_kept_as_they_are() -> None:
    assert table_name(replace(ZONE_DEMAND, name="rides.per-zone")) == "rides_per_zone"
    assert table_name(ZONE_DEMAND, "d" * 58) == "d" * 58


@pytest.mark.parametrize("name", ["", "taxi.demand", "a b", 'a"b', "${topic}", "2nd", "d" * 59, "straße"])
def test_a_table_that_connect_or_postgresql_would_call_otherwise_is_refused(name: str) -> None:
    with pytest.raises(DefinitionError, match="no table of that name"):
        table_name(ZONE_DEMAND, name)


def test_a_table_of_an_earlier_version_gets_the_columns_that_it_lacks() -> None:
    made = table_statements(ZONE_DEMAND, "demand").splitlines()
    added = [line for line in made if line.startswith("alter table")]
    assert 'alter table "demand" add column if not exists "fare_cents" bigint;' in added
    assert not any('"revision"' in line for line in added)
    assert made.index(added[-1]) < made.index('create or replace view "demand_last" as')


@pytest.mark.parametrize(("name", "told"), [("g" * 64, "longer than 63 bytes"), ("final_offset", "a column of the")])
def test_a_name_that_the_table_cannot_have_is_refused(name: str, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        table_statements(replace(ZONE_DEMAND, groups=(Group(name, "pickup_zone"),)), "demand")


def test_the_databases_address_is_told_as_java_has_it_without_its_user() -> None:
    assert jdbc_url("postgresql://a@db/taxi?sslmode=require") == "jdbc:postgresql://db/taxi?sslmode=require"
    assert jdbc_url("postgresql://a@[::1]:5433/a%20b") == "jdbc:postgresql://[::1]:5433/a%20b"
    assert sink(ZONE_DEMAND, "demand", "postgresql://a%40b@db/taxi", "demand")["connection.username"] == "a@b"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sink", "zone_demnd"], "did you mean 'zone_demand'?"),
        (["sink", "zone_demand", "--database", "mysql://x/y"], "one is postgresql://user@127.0.0.1:5432/name"),
        (["sink", "zone_demand", "--database", "postgresql://127.0.0.1"], "one is postgresql://"),
        (["check", "zone_demand", "--database", "postgresql://u:p@127.0.0.1/x"], "set PGPASSWORD"),
        (["sink", "zone_demand", "--database", "postgresql://u:@127.0.0.1/x"], "set PGPASSWORD"),
        (["sink", "zone_demand", "--database", "postgresql://127.0.0.1/x"], "it names no user"),
        (["check", "zone_demand", "--database", "postgresql://@127.0.0.1/x"], "it names no user"),
        (["sink", "zone_demand", "--database", "postgresql://u@127.0.0.1/x#y"], "is written %23"),
        (["sink", "zone_demand", "--database", "postgresql://127.0.0.1:port/x"], "one is postgresql://"),
        (["sink", "zone_demand", "--database", "postgresql://[::1/x"], "one is postgresql://"),
        (["source", "rides.csv", "--topic", "rides.yellow"], "rides.yellow is a topic of flagfall"),
        (["source", "rides.csv", "--topic", "rides yellow"], "is no name of a topic"),
        (["source", "rides.csv", "--topic", "flagfall-connect-config"], "is where Connect keeps what it knows"),
        (["source", "rides.csv", "--topic", "flagfall-connect-status"], "is where Connect keeps what it knows"),
        (["source", "rides.csv", "--topic", "__consumer_offsets"], "are Kafka's own topics"),
        (["source", "", "--topic", "imports.csv"], "a file has a name"),
        (["check", "zone_demand", "--wait", "nan"], "nan is no number of seconds"),
        (["check", "zone_demand", "--wait", "inf"], "inf is no number of seconds"),
    ],
)
def test_wrong_usage_is_told_with_what_is_right(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(command, arguments)
    assert (result.exit_code, told in result.output) == (2, True), result.output


@pytest.mark.parametrize(
    "parameter",
    ["password", "%70assword", "sslmode=require&password", "user", "host", "hostaddr", "passfile", "sslpassword"],
)
@pytest.mark.parametrize("of", ["sink", "check"])
def test_a_parameter_that_is_a_secret_or_another_address_is_refused_and_not_repeated(of: str, parameter: str) -> None:
    address = f"postgresql://u@127.0.0.1/x?{parameter}=hunter2"
    result = CliRunner().invoke(command, [of, "zone_demand", "--database", address])
    assert (result.exit_code, "a password is read from PGPASSWORD" in result.output) == (2, True), result.output
    assert "hunter2" not in result.output


def test_what_is_told_of_a_wrong_address_repeats_no_password() -> None:
    for address in (
        "postgresql://u:hunter2@127.0.0.1",
        "postgresql://u:hunter2@127.0.0.1:port/x",
        "my://u:hunter2@x/y",
    ):
        result = CliRunner().invoke(command, ["sink", "zone_demand", "--database", address])
        assert (result.exit_code, "hunter2" in result.output) == (2, False), result.output
