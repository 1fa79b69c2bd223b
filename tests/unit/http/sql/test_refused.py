"""Statements that are not answered, and why: hostile ones too, of which the worker notices nothing."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.base.setting_groups import HttpSettings
from app.edge.sql.database import Database, RejectedStatement
from app.engine.drive.standing import GroupStanding
from app.rides.views import ZONE_DEMAND
from tests.support.http import Client, server_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

LIMITS = HttpSettings(statement_rows=3, statement_seconds=600, statement_memory_mb=64, max_waiting_requests=0)
"""Seconds that no machine is too slow for: what is refused in words is refused by its words."""
HURRIED = LIMITS.model_copy(update={"statement_seconds": 2.0})
HUGEST = 170141183460469231731687303715884105727
ENDLESS = "SELECT count(*) FROM range(1_000_000_000_000)"
FILE = str(Path(__file__))


@asynccontextmanager
async def served(folder: Path, limits: HttpSettings) -> AsyncIterator[Client]:
    async with server_of(folder, limits=limits) as start:
        yield await start(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 4))})]))


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with served(tmp_path, LIMITS) as client:
        yield client


@pytest.fixture
async def hurried(tmp_path: Path) -> AsyncIterator[Client]:
    async with served(tmp_path, HURRIED) as client:
        yield client


async def refused(client: Client, sql: str) -> dict[str, Any]:
    async with client.post("/v1/sql", json={"sql": sql}) as response:
        problem: dict[str, Any] = await response.json(content_type=None)
    assert (response.status, problem["type"]) == (400, "urn:flagfall:problem:bad-statement"), problem
    return problem


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELEC 1", "syntax error"),
        ("", "there is none in it"),
        ("-- nothing\n;", "there is none in it"),
        ("SELECT 1; SELECT 2", "these are 2"),
        ("SELECT nothing FROM zone_demand", '"nothing" not found'),
        ("FROM zone_demands", "'zone_demands'; did you mean 'zone_demand'?"),
        ("DROP TABLE zone_demand", "this is DROP"),
        ("CREATE TABLE t AS SELECT 1", "this is CREATE"),
        ("INSERT INTO zone_demand VALUES (1)", "this is INSERT"),
        ("SET memory_limit = '9GB'", "this is SET"),
        ("SHOW TABLES", "every view is a table: zone_demand"),
        ("-- a comment\nSHOW TABLES", "every view is a table"),
        ("FROM (SHOW TABLES)", "every view is a table"),
        ("DESCRIBE", "every view is a table"),
        ("SHOW zone_demand", "every view is a table"),
        ("SELECT count(*) FROM information_schema.tables", "no table is called 'information_schema.tables'"),
        ("FROM other.zone_demand", "no table is called 'other.zone_demand'; did you mean 'zone_demand'?"),
        ("SELECT md5_number('x') AS a", "column 'a' is UHUGEINT, which is not answered; cast it to VARCHAR"),
        ("SELECT ['10:00:00+02'::TIMETZ] AS a", "column 'a' is TIME WITH TIME ZONE[], which is not answered"),
        ("SELECT B'101' AS a", "cast it to VARCHAR"),
        ("SELECT 'NaN'::DOUBLE AS a", "column 'a' holds what is no number to JSON; cast it to VARCHAR"),
        ("SELECT DATE '290000-01-01'", "cast it to VARCHAR"),
        ("SELECT " + "+".join(["1"] * 1_100), "expression depth limit of 1000 exceeded."),
        ("PRAGMA database_list", "this is PRAGMA"),
        ("INSTALL httpfs", "this is INSTALL"),
        ("/* a */ -- b\n INSTALL httpfs", "this is INSTALL"),
        ("PIVOT zone_demand ON zone USING sum(rides)", "this is PIVOT, which is one where it says for which values"),
        ('FROM memory.main."zone_demand"', "no table is called 'memory.main.zone_demand'; did you mean 'zone_demand'?"),
        ("LOAD httpfs", "this is LOAD"),
        ("ATTACH 'a.db'", "this is ATTACH"),
        (f"COPY (SELECT 1) TO '{FILE}'", "this is COPY"),
        (f"SELECT * FROM read_csv('{FILE}')", "disabled by configuration"),
        (f"SELECT * FROM read_text('{FILE}')", "disabled by configuration"),
        (f"SELECT * FROM '{FILE}'", "no table is called"),
        ("SELECT * FROM glob('/*')", "disabled by configuration"),
        ("SELECT * FROM read_csv('http://127.0.0.1:1/x')", "Permission Error"),
        ("FROM query('DROP TABLE zone_demand')", "Expected a single SELECT"),
        ("SELECT getenv('HOME')", "getenv does not exist"),
        ("FROM duckdb_secrets()", "disabled by configuration"),
        ("FROM sqlite_scan('a', 'b')", "sqlite_scan"),
        ("FROM sys", "no table is called 'sys'"),
        ("SELECT repeat('x', 1_000_000_000)", "Out of Memory"),
        ("SELECT list(a) FROM range(1_000_000_000_000) t(a)", "Out of Memory"),
        ("SELECT repeat('x', 9_000_000) FROM range(9)", "more than 64,000,000 bytes"),
    ],
)
async def test_a_statement_that_is_wrong_or_hostile_is_refused_in_words(client: Client, sql: str, why: str) -> None:
    assert why in (await refused(client, sql))["detail"]
    assert (await client.get("/v1/views/zone_demand/rows")).status == 200


async def test_a_statement_that_does_not_end_is_ended(hurried: Client) -> None:
    assert "not answered within 2 s" in (await refused(hurried, ENDLESS))["detail"]
    assert (await hurried.get("/v1/views/zone_demand/rows")).status == 200


def test_an_answer_of_more_bytes_than_are_told_is_refused() -> None:
    with pytest.raises(RejectedStatement, match="more than 1,000 bytes"):
        Database(memory_mb=64).answer("SELECT repeat('x', 100) FROM range(11)", most_rows=20, most_bytes=1_000)


def test_views_that_differ_by_case_alone_are_not_taken_for_each_other() -> None:
    tables_of = Database(memory_mb=64).tables_of
    assert tables_of("FROM Demand", ["demand", "streaks"]) == {"demand"}
    with pytest.raises(RejectedStatement, match="Demand, demand: to SQL"):
        tables_of("FROM Demand", ["demand", "Demand"])


async def test_more_rows_than_are_told_are_cut_and_meta_says_so(client: Client) -> None:
    async with client.post("/v1/sql", json={"sql": "FROM range(9)"}) as response:
        told = await response.json()
    assert (told["data"], told["meta"]["rows"], told["meta"]["cut"]) == ([[0], [1], [2]], 3, True)
    async with client.post("/v1/sql", json={"sql": "FROM range(4)", "format": "arrow"}) as response:
        assert (response.status, "more than 3 rows" in await response.text()) == (400, True)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{}", "sql: Field required"),
        (b"SELECT 1", "Invalid JSON"),
        (b'{"sql": 1}', "sql: Input should be a valid string"),
        (b'{"sql": "SELECT 1", "limit": 3}', "limit: Extra inputs"),
        (b'{"sql": "SELECT 1", "format": "csv"}', "format: Input should be 'json' or 'arrow'"),
        (b'{"sql": "SELECT 1", "from": "today"}', "from=today"),
        (b'{"sql": "SELECT 1", "sql": "SELECT 2"}', "sql: it is there twice"),
    ],
)
async def test_a_body_that_is_no_statement_is_refused(client: Client, body: bytes, why: str) -> None:
    async with client.post("/v1/sql", data=body, headers={"Content-Type": "application/json"}) as response:
        assert (response.status, why in (await response.json(content_type=None))["detail"]) == (400, True)


async def test_what_is_accepted_and_not_had_is_said(client: Client) -> None:
    async with client.post("/v1/sql", json={"sql": "SELECT 1"}, headers={"Accept": "text/csv"}) as response:
        problem = await response.json(content_type=None)
    assert (response.status, problem["type"]) == (406, "urn:flagfall:problem:not-acceptable")
    assert "format=arrow" in problem["detail"]


async def test_a_page_of_another_origin_cannot_send_a_statement_unasked(client: Client) -> None:
    """Only what a form can send goes without a preflight, which nobody answers here."""
    for sent in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        async with client.post("/v1/sql", data=b'{"sql": "SELECT 1"}', headers={"Content-Type": sent}) as response:
            assert response.status == 415
    assert (await client.options("/v1/sql")).status == 405


async def test_as_many_statements_as_are_allowed_are_answered_and_the_others_told_to_come_back(client: Client) -> None:
    long = asyncio.create_task(refused(client, ENDLESS))
    while await inside(client) == 0:
        assert not long.done()
    response = await client.post("/v1/sql", json={"sql": "SELECT 1"})
    problem = await response.json(content_type=None)
    assert (response.status, problem["reason"]) == (503, "queue-full")
    assert "FLAGFALL_HTTP_MAX_STATEMENTS" in problem["detail"]
    long.cancel()  # its client leaves
    while await inside(client) == 1:
        pass
    assert (await client.post("/v1/sql", json={"sql": "SELECT 1"})).status == 200


async def inside(client: Client) -> float:
    """How many statements are being answered."""
    told = await (await client.get("/metrics")).text()
    return float(told.split('flagfall_http_requests_in_flight{gate="statements"} ')[1].split()[0])


async def test_a_worker_that_is_not_ready_answers_statements_over_no_view_alone(tmp_path: Path) -> None:
    async with server_of(tmp_path) as start:
        directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 4))})])
        directory.standing = GroupStanding.REBALANCING
        client = await start(directory)
        assert (await client.post("/v1/sql", json={"sql": "FROM zone_demand"})).status == 503
        assert (await client.post("/v1/sql", json={"sql": "SELECT 1"})).status == 200


async def test_a_body_in_pieces_or_compressed_is_bounded_as_any_other(client: Client) -> None:
    async def pieces(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield b" " * 50_000

    sent: list[tuple[Any, dict[str, str], str]] = [
        (b'{"sql": "' + b" " * 100_000 + b'"}', {}, "at most 100,000 bytes"),
        (b'{"sql": "' + b" " * 5_000_000 + b'"}', {}, "at most 100,000 bytes"),
        (pieces(3), {}, "at most 100,000 bytes"),
        (pieces(200), {}, "at most 100,000 bytes"),
        (gzip.compress(b" " * 50_000_000), {"Content-Encoding": "gzip"}, "at most 100,000 bytes"),
    ]
    for body, headers, why in sent:
        json = {"Content-Type": "application/json"} | headers
        async with client.post("/v1/sql", data=body, headers=json) as response:
            problem = await response.json(content_type=None)
        assert (response.status, problem["type"]) == (413, "urn:flagfall:problem:too-large")
        assert why in problem["detail"]


async def test_a_body_that_is_not_compressed_as_it_says_is_refused(client: Client) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    async with client.post("/v1/sql", data=b'{"sql": "SELECT 1"}', headers=headers) as response:
        assert (response.status, "cannot be read" in (await response.json())["detail"]) == (400, True)


@pytest.mark.parametrize("value", ["{0}", "[{0}]", "{{'a': {0}}}"])
async def test_a_number_that_a_column_of_arrow_does_not_hold_is_refused(client: Client, value: str) -> None:
    for number, status in ((HUGEST, 400), (HUGEST // 10, 200)):
        sql = f"SELECT {value.format(f'{number}::HUGEINT')} AS a"
        async with client.post("/v1/sql", json={"sql": sql, "format": "arrow"}) as response:
            assert response.status == status
            if status == 400:
                detail = (await response.json(content_type=None))["detail"]
                assert "column 'a' is HUGEINT, and holds more than the 38 digits" in detail
