"""Finals in a real PostgreSQL, by a real Connect worker and Debezium's sink: all of them, each once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from confluent_kafka import Producer

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.committed import committed
from app.base.names import finals_topic
from app.base.services import connect, local
from app.base.settings import Settings
from app.edge.connectors import frames
from app.edge.connectors.columns import final_columns, key_columns
from app.edge.connectors.comparison import compare
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.integration.connect.asking import asked, begin
from tests.integration.connect.conftest import Postgres
from tests.support.flow import by_task
from tests.support.machine.closing import close_all
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.world import covers, messages, ready_worker
from tests.support.truth import records_of

RIDES_WRITTEN = 6_000
TABLE = "demand"
SLOWLY = {"batch.size": "10", "consumer.override.max.poll.records": "10"}
FIRST_OF = (
    "where final_partition = {0} and final_offset = (select min(final_offset) from demand where final_partition = {0})"
)
"""The oldest final of a partition, whatever else the sink has written."""
LAST_OF = FIRST_OF.replace("min", "max")


@pytest.fixture
def published(connected: Settings, database: str, tmp_path: Path) -> Settings:
    """With finals of all rides in `windows.zone_demand`, behind them a record of somebody's without a value, and an
    empty table. Nothing is under way there: a transaction that a killed worker leaves open hides what is behind it."""
    topic = finals_topic(ZONE_DEMAND.name)
    write_rides(connected, 0, RIDES_WRITTEN)
    with ready_worker(connected, tmp_path) as worker:
        wait_for(lambda: covers(connected, worker, ZONE_DEMAND), "all rides are covered", [worker])
        close_all(connected)
        rows = {key for _, key in by_task(ZONE_DEMAND, records_of(connected, RIDES))}
        wait_for(lambda: len(messages(connected, topic)) >= len(rows), "all rows are finals", [worker])
        assert worker.stop() == 0
    assert len(messages(connected, topic)) == len(rows)
    producer = Producer(librdkafka_options(connected.kafka))
    producer.produce(topic, partition=0)
    assert producer.flush(patient(30)) == 0
    run(database, f"drop table if exists {TABLE} cascade", asked("table", "zone_demand", "--table", TABLE))
    return connected


def stopped(settings: Settings) -> str:
    """The address of the connector, which has committed how far it is and left its group."""
    url = f"{connect.address(settings)}/connectors/{TABLE}"
    assert httpx.put(f"{url}/stop", timeout=patient(30)).is_success
    wait_for(lambda: httpx.get(f"{url}/status").json()["tasks"] == [], "its task has ended")
    return url


def run(database: str, *statements: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def number(database: str, statement: str) -> int:
    with psycopg.connect(database) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return int(row[0])


def checked(database: str, *, code: int, wait_seconds: float = 0.0) -> dict[str, Any]:
    options = ("--table", TABLE, "--database", database, "--wait", str(wait_seconds), "--json")
    told: dict[str, Any] = json.loads(asked("check", "zone_demand", *options, code=code))
    return told


def altered_if_fares_were_dropped(settings: Settings, database: str) -> list[dict[str, Any]]:
    """What a later version of the view that has none finds in the rows of this one."""
    columns = [column for column in final_columns(ZONE_DEMAND) if column.name != "fare_cents"]
    others = frames.other_columns(database, TABLE, columns)
    assert [column.name for column in others] == ["fare_cents", "own"]
    client, topic = librdkafka_options(settings.kafka), finals_topic(ZONE_DEMAND.name)
    messages = (one for at in range(settings.topics.partitions) for one in committed(client, topic, at))
    finals = frames.published(messages, columns, others).finals
    found = compare(finals, frames.held(database, TABLE, finals.schema), key_columns(ZONE_DEMAND), {}, {})
    return found.altered.to_dicts()


def go_on_without_a_database(settings: Settings, postgres: Postgres, connector: str) -> None:
    """The sink, which has been stopped: behind its first rows it finds none, and nobody tells it when there is one."""
    status = f"{connector}/status"
    with psycopg.connect(postgres.address) as others:
        others.execute(f"lock table {TABLE} in exclusive mode".encode())
        assert httpx.put(f"{connector}/resume").is_success
        held_back = "select count(*) from pg_locks where not granted"
        wait_for(lambda: number(postgres.address, held_back) > 0, "it writes its first rows")
        assert httpx.put(f"{connector}/pause").is_success
        wait_for(lambda: httpx.get(status).json()["connector"]["state"] == "PAUSED", "it is told to pause")
    wait_for(lambda: [one["state"] for one in httpx.get(status).json()["tasks"]] == ["PAUSED"], "it pauses")
    postgres.stop()
    assert httpx.put(f"{connector}/resume").is_success
    log = settings.data_dir / "logs" / "connect.log"
    wait_for(lambda: "Retry to " in log.read_text("utf-8"), "the sink has missed it")
    postgres.start()


def test_a_sink_that_is_killed_and_left_alone_leaves_every_final_once_and_what_is_changed_is_found(
    published: Settings, postgres: Postgres
) -> None:
    database = postgres.address
    rows = f"select count(*) from {TABLE}"
    told = json.loads(asked("sink", "zone_demand", "--table", TABLE, "--database", database))
    begin(published, told | SLOWLY)
    wait_for(lambda: number(database, rows) > 0, "the sink writes")
    (pid,) = (one.pid for one in local.status(published) if one.name == connect.NAME)
    psutil.Process(pid).kill()
    killed_at = number(database, rows)
    found = checked(database, code=0, wait_seconds=patient(90))
    assert found["equal"] == number(database, rows) == number(database, f"select count(*) from {TABLE}_last")
    assert [(one["partition"], one["is_empty"]) for one in found["no_finals"]] == [(0, True)]
    whole = found["equal"]
    assert whole > killed_at, "it was killed before it was done"
    micros = f"{rows} where window_start_time = 'epoch'::timestamptz + window_start_us * interval '1 us'"
    assert number(database, micros) == found["equal"]

    connector = stopped(published)
    run(
        database,
        f"delete from {TABLE} {LAST_OF.format(0)}",
        f"update {TABLE} set fare_cents = coalesce(fare_cents, 0) + 1 {FIRST_OF.format(1)}",
        f"update {TABLE} set zone = 999 {FIRST_OF.format(2)}",
    )
    found = checked(database, code=10)
    places = {what: [row["final_partition"] for row in found[what]] for what in ("missing", "altered", "foreign")}
    assert places == {"missing": [0, 2], "altered": [1], "foreign": [2]}

    run(database, f"alter table {TABLE} add column own bigint default 3")
    assert [row["final_partition"] for row in altered_if_fares_were_dropped(published, database)] == [1]

    run(database, f"delete from {TABLE}")
    found = checked(database, code=10)
    assert (found["equal"], len(found["missing"]), found["to_come"]) == (0, whole, 0)
    assert httpx.delete(f"{connector}/offsets", timeout=patient(30)).is_success
    assert [checked(database, code=11)[fact] for fact in ("reached", "to_come", "missing")] == [{}, whole, []]
    told = asked("check", "zone_demand", "--table", TABLE, "--database", database, "--wait", "0", code=11)
    assert f"the group connect-{TABLE} has no offsets" in told
    go_on_without_a_database(published, postgres, connector)
    assert checked(database, code=0, wait_seconds=patient(90))["equal"] == whole

    options = ("check", "zone_demand", "--table")
    asked(*options, "another", "--database", database, refused="`flagfall connect table` tells the table")
    asked(*options, TABLE, "--database", "postgresql://a@127.0.0.1:1/b", refused="the database cannot be read")
