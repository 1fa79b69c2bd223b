"""Whether a worker answers: readiness, recovery, stalls, its start and its end."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestClient, TestServer

from app.base.addresses import LOOPBACK
from app.base.setting_groups import HttpSettings
from app.domain.records import TopicPartition
from app.edge.http.application import create_app
from app.edge.http.context import ServedGroup
from app.edge.http.entry.security import HEADERS
from app.edge.http.listening import listening
from app.engine.drive.kafka.schemas import Awaited
from app.engine.drive.ownership.directory import Membership
from app.engine.drive.standing import GroupStanding
from app.engine.drive.watch.progress import Cause, Stall
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import ANSWERS_ALWAYS, NEEDS_TABLES, VIEWS, Serve, one_task, zone_table
from tests.support.material.stored.runs import verdicts_in
from tests.support.material.stored.tables import ready_directory, task_of


@pytest.mark.parametrize("standing", [s for s in GroupStanding if s is not GroupStanding.READY])
async def test_a_worker_that_is_not_ready_never_answers_from_its_tables(serve: Serve, standing: GroupStanding) -> None:
    directory = ready_directory([], partitions=1) if standing is GroupStanding.RECOVERING else one_task()
    directory.standing = standing
    client = await serve(directory)
    for address in NEEDS_TABLES:
        answer = await client.get(address)
        problem = await answer.json(content_type="application/problem+json")
        assert (answer.status, problem["type"]) == (503, "urn:flagfall:problem:not-ready"), address
        assert (problem["standing"], problem["retryable"], problem["instance"]) == (standing, True, address)
        assert int(answer.headers["Retry-After"]) > 0
    for address in ANSWERS_ALWAYS:
        assert (await client.get(address)).status == 200, address
    page = await client.get("/")
    assert (page.status, standing in await page.text()) == (503, True)


async def test_a_page_without_figures_is_told_in_the_log_as_a_worker_that_is_not_ready(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    """A page is no problem document, and nobody else's answer either."""
    caplog.set_level(logging.INFO)
    directory = ready_directory([])
    directory.standing = GroupStanding.RECOVERING
    assert (await (await serve(directory)).get("/")).status == 503
    (told,) = [line for line in caplog.records if hasattr(line, "trace_id")]
    assert (told.levelname, told.problem, told.status) == ("INFO", "not-ready", 503)
    assert "The tables are being read back from their changelog." in told.getMessage()


async def test_a_worker_that_recovers_answers_about_the_tasks_that_it_has_taken_over(serve: Serve) -> None:
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132)), VENDOR_TRIPS: {}})], partitions=2)
    directory.standing, directory.recovering = GroupStanding.RECOVERING, {1: (30, 1_000)}
    client = await serve(directory)
    assert (await client.get("/v1/views/zone_demand/export?partition=0")).status == 200
    whole = await (await client.get("/v1/views/zone_demand/rows")).json(content_type="application/problem+json")
    assert whole["missing"][0]["why"] == "it is being taken over here: 30 of 1000 offsets of its changelog are read"
    some = await (await client.get("/v1/views/zone_demand/rows?partial=allow")).json()
    assert [row["group"]["zone"] for row in some["data"]] == [132]
    ready = await client.get("/readyz")
    assert ready.status == 503
    assert (await ready.json(content_type="application/problem+json"))["groups"]["rides"] == {
        "standing": "recovering",
        "tasks": [0],
        "partitions": 2,
        "recovering": {"1": {"done_offsets": 30, "all_offsets": 1_000}},
        "building": {},
        "standby": {},
    }


async def test_a_recovering_worker_whose_group_gave_it_up_does_not_answer(serve: Serve) -> None:
    directory = one_task()
    directory.standing = GroupStanding.RECOVERING
    directory.membership = Membership(session_timeout_seconds=1, heartbeat_at_seconds=time.monotonic() - 2)
    client = await serve(directory)
    assert (await client.get("/v1/views/zone_demand/rows")).status == 503


async def test_a_group_that_is_not_ready_leaves_the_answers_of_the_others_alone(tmp_path: Path) -> None:
    other = ready_directory([], partitions=1)
    other.standing = GroupStanding.REBALANCING
    served = [ServedGroup("rides", one_task(), VIEWS, (RIDES,)), ServedGroup("other", other, (), ())]
    async with TestClient(TestServer(create_app(served, verdicts_in(tmp_path)))) as client:
        assert (await client.get("/v1/views/zone_demand/rows")).status == 200
        assert (await client.get("/")).status == 200
        ready = await client.get("/readyz")
        groups = (await ready.json(content_type="application/problem+json"))["groups"]
        assert (ready.status, groups["rides"]["standing"], groups["other"]["standing"]) == (503, "ready", "rebalancing")


async def test_a_stalled_worker_says_at_livez_why(tmp_path: Path) -> None:
    stall = Stall("rides", Cause.NOT_FETCHED, 31.4, TopicPartition("rides.fhv", 2), "position 1, the log ends at 2")
    liveness: Any = SimpleNamespace(dead=stall)
    served = [ServedGroup("rides", one_task(), VIEWS, (RIDES,))]
    async with TestClient(TestServer(create_app(served, verdicts_in(tmp_path), liveness=liveness))) as client:
        answer = await client.get("/livez")
        problem = await answer.json(content_type="application/problem+json")
        assert (answer.status, problem["type"]) == (503, "urn:flagfall:problem:stalled")
        assert (problem["group"], problem["cause"], problem["seconds"]) == ("rides", "not_fetched", 31)
        assert "rides.fhv-2" in problem["detail"]
        liveness.dead = None
        assert (await client.get("/livez")).status == 200


async def test_readyz_names_the_schemas_that_tasks_wait_for(tmp_path: Path) -> None:
    awaited = [Awaited(7, 0, "it says 500"), *(Awaited(number, 1_000_000) for number in range(100, 1_100))]
    served = [ServedGroup("rides", one_task(), VIEWS, (RIDES,))]
    async with TestClient(
        TestServer(create_app(served, verdicts_in(tmp_path), awaited_schemas=lambda: awaited))
    ) as client:
        answer = await client.get("/readyz")
        told = (await answer.json())["awaited_schemas"]
        assert (answer.status, told["count"], len(told["longest"])) == (200, 1_001, 20)
        assert told["longest"][:2] == [
            {"id": 7, "since": "1970-01-01T00:00:00Z", "why": "it says 500"},
            {"id": 100, "since": "1970-01-01T00:00:01Z", "why": "asked since 1970-01-01T00:00:01Z, no answer yet"},
        ]


async def test_a_ready_worker_that_knows_of_no_partitions_is_still_starting(serve: Serve) -> None:
    client = await serve(ready_directory([]))
    assert (await client.get("/readyz")).status == 503


async def test_it_serves_where_it_listens_and_stops(tmp_path: Path) -> None:
    app = create_app([ServedGroup("rides", one_task(), VIEWS, (RIDES,))], verdicts_in(tmp_path))
    async with (
        listening(app, LOOPBACK, 0) as port,
        ClientSession(f"http://{LOOPBACK}:{port}") as session,
        session.get("/livez") as answer,
    ):
        assert answer.status == 200
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(LOOPBACK, port)


async def test_a_request_that_is_no_http_is_a_line_in_the_log_without_a_trace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app([ServedGroup("rides", one_task(), VIEWS, (RIDES,))], verdicts_in(tmp_path))
    async with listening(app, LOOPBACK, 0) as port:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(b"GET /v1/tasks?zone=\xff\xfe 100% HTTP/1.1\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    assert head.startswith(b"HTTP/1.0 400")
    lines = head.decode().splitlines()
    assert {f"{name}: {value}" for name, value in HEADERS.items()} <= {*lines}
    assert [line for line in lines if line.startswith("Server:")] == ["Server: flagfall"]
    assert (json.loads(body)["type"], "cannot be read" in json.loads(body)["detail"]) == (
        "urn:flagfall:problem:bad-request",
        True,
    )
    told = [(record.levelname, record.exc_info, record.getMessage().partition(":")[0]) for record in caplog.records]
    assert told == [("WARNING", None, "a request could not be read")]


async def test_a_body_that_cannot_be_read_is_told_in_words(tmp_path: Path) -> None:
    app = create_app([ServedGroup("rides", one_task(), VIEWS, (RIDES,))], verdicts_in(tmp_path))
    async with listening(app, LOOPBACK, 0) as port, ClientSession(f"http://{LOOPBACK}:{port}") as session:
        for encoding, status, why in (("gzip", 400, "it is no gzip."), ("br", 415, "compressed as 'br'")):
            headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
            async with session.post("/v1/sql", data=b"abc", headers=headers) as answer:
                told = await answer.json(content_type=None)
            assert (answer.status, answer.content_type) == (status, "application/problem+json")
            assert ("Server" in answer.headers, why in told["detail"]) == (False, True), told


async def test_a_statement_ends_when_its_client_has_left(tmp_path: Path) -> None:
    patient = HttpSettings(statement_seconds=3_600, statement_memory_mb=64)
    served = [ServedGroup("rides", one_task(), VIEWS, (RIDES,))]
    app = create_app(served, verdicts_in(tmp_path), limits=patient)
    async with listening(app, LOOPBACK, 0) as port, ClientSession(f"http://{LOOPBACK}:{port}") as client:
        asked = {"sql": "SELECT count(*) FROM range(1_000_000_000_000)"}
        endless = asyncio.create_task(client.post("/v1/sql", json=asked))
        while 'in_flight{gate="statements"} 1.0' not in await (await client.get("/metrics")).text():
            assert not endless.done()
        endless.cancel()
        async with client.post("/v1/sql", json={"sql": "SELECT 1"}) as response:
            assert response.status == 200
