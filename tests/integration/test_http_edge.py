"""What holds for every address: problems, readiness, headers, the API document, metrics, page, export."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestClient, TestServer
from openapi_spec_validator import validate
from prometheus_client.parser import text_string_to_metric_families

from app.codecs.stored.export import check_digest, read_export, stored_rows
from app.domain.records import TopicPartition
from app.domain.rows import RowKey
from app.edge.http import long_work
from app.edge.http.application import create_app, create_runner
from app.edge.http.context import ServedGroup
from app.edge.http.routes import ROUTES
from app.edge.http.rows import export_handler
from app.engine.core.rows.state import ViewChange
from app.engine.drive.kafka.schemas import Awaited
from app.engine.drive.ownership.directory import Directory, Membership, Standing
from app.engine.drive.watch.progress import Cause, Stall
from app.rides.ride import RIDES
from app.rides.views import CLEANLINESS, VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, PANE_US, VIEWS, Serve, server_of, url_of, zone_table
from tests.support.material.stored.runs import NOON, wrote
from tests.support.material.stored.tables import cells_of, ready_directory, task_of
from tests.support.material.views import TIDY

NEEDS_TABLES = (
    "/v1/views/zone_demand",
    "/v1/views/zone_demand/rows",
    "/v1/views/zone_demand/export?partition=0",
    "/v1/internal/views/zone_demand/parts?partition=0",
    "/v1/tasks",
    "/v1/internal/tasks?group=rides&partition=0",
    "/readyz",
)
DESCRIBED = ("/v1/views", "/v1/views/zone_demand", "/v1/views/zone_demand/rows", "/v1/tasks", "/livez", "/readyz")
ANSWERS_ALWAYS = ("/livez", "/metrics", "/openapi.json", "/v1/views", "/static/page.css", "/static/icon.svg")


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path) as start:
        yield start


def one_task() -> Directory:
    return ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132), (1, None)), BY_BASE: {}, VENDOR_TRIPS: {}})])


@pytest.mark.parametrize("standing", [s for s in Standing if s is not Standing.READY])
async def test_a_worker_that_is_not_ready_never_answers_from_its_tables(serve: Serve, standing: Standing) -> None:
    directory = ready_directory([], partitions=1) if standing is Standing.RECOVERING else one_task()
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


async def test_a_worker_that_recovers_answers_about_the_tasks_that_it_has_taken_over(serve: Serve) -> None:
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132)), VENDOR_TRIPS: {}})], partitions=2)
    directory.standing, directory.recovering = Standing.RECOVERING, {1: (30, 1_000)}
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
    directory.standing = Standing.RECOVERING
    directory.membership = Membership(session_timeout_seconds=1, heartbeat_at_seconds=time.monotonic() - 2)
    client = await serve(directory)
    assert (await client.get("/v1/views/zone_demand/rows")).status == 503


async def test_a_group_that_is_not_ready_leaves_the_answers_of_the_others_alone(tmp_path: Path) -> None:
    other = ready_directory([], partitions=1)
    other.standing = Standing.REBALANCING
    served = [ServedGroup("rides", one_task(), VIEWS, (RIDES,)), ServedGroup("other", other, (), ())]
    async with TestClient(TestServer(create_app(served, tmp_path))) as client:
        assert (await client.get("/v1/views/zone_demand/rows")).status == 200
        assert (await client.get("/")).status == 200
        ready = await client.get("/readyz")
        groups = (await ready.json(content_type="application/problem+json"))["groups"]
        assert (ready.status, groups["rides"]["standing"], groups["other"]["standing"]) == (503, "ready", "rebalancing")


async def test_a_stalled_worker_says_at_livez_why(tmp_path: Path) -> None:
    stall = Stall("rides", Cause.NOT_FETCHED, 31.4, TopicPartition("rides.fhv", 2), "position 1, the log ends at 2")
    liveness: Any = SimpleNamespace(dead=stall)
    served = [ServedGroup("rides", one_task(), VIEWS, (RIDES,))]
    async with TestClient(TestServer(create_app(served, tmp_path, liveness=liveness))) as client:
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
    async with TestClient(TestServer(create_app(served, tmp_path, awaited_schemas=lambda: awaited))) as client:
        answer = await client.get("/readyz")
        told = (await answer.json())["awaited_schemas"]
        assert (answer.status, told["count"], len(told["longest"])) == (200, 1_001, 20)
        assert told["longest"][:2] == [
            {"id": 7, "since": "1970-01-01T00:00:00Z", "why": "it says 500"},
            {"id": 100, "since": "1970-01-01T00:00:01Z", "why": None},
        ]


async def test_a_ready_worker_that_knows_of_no_partitions_is_still_starting(serve: Serve) -> None:
    client = await serve(ready_directory([]))
    assert (await client.get("/readyz")).status == 503


@pytest.mark.parametrize(
    ("method", "address", "status", "slug"),
    [
        ("GET", "/nowhere", 404, "not-found"),
        ("GET", "/v1/views/nothing", 404, "unknown-view"),
        ("GET", "/v1/views/nothing/rows", 404, "unknown-view"),
        ("GET", "/static/..%2fpage.py", 404, "not-found"),
        ("POST", "/v1/views", 405, "method-not-allowed"),
        ("DELETE", "/v1/views/zone_demand/rows", 405, "method-not-allowed"),
        ("GET", "/v1/views?x=1", 400, "bad-parameter"),
        ("GET", "/v1/views/zone_demand?limit=1", 400, "bad-parameter"),
        ("GET", "/v1/views/zone_demand/rows?limit=0", 400, "bad-parameter"),
        ("GET", "/v1/views/zone_demand/rows?cursor=x", 400, "bad-cursor"),
        ("GET", "/v1/views/zone_demand/export", 400, "bad-parameter"),
        ("GET", "/v1/views/zone_demand/export?partition=1", 400, "bad-parameter"),
        ("GET", "/v1/views/zone_demand/export?partition=0&partition=0", 400, "bad-parameter"),
        ("GET", "/v1/views/zone_demand/rows?" + "zone=1&" * 400, 414, "too-long"),
        ("GET", "/" + "x" * 5000, 414, "too-long"),
    ],
)
async def test_every_error_is_a_problem(serve: Serve, method: str, address: str, status: int, slug: str) -> None:
    client = await serve(one_task())
    answer = await client.request(method, address)
    problem = await answer.json(content_type="application/problem+json")
    assert (answer.status, problem["status"], problem["type"]) == (
        status,
        status,
        f"urn:flagfall:problem:{slug}",
    )
    assert problem["title"]
    assert problem["detail"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    if status == 405:
        assert "GET" in answer.headers["Allow"]


async def test_an_unexpected_failure_is_logged_and_not_told(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    directory = one_task()
    directory.tasks[0].views["zone_demand"] = None  # type: ignore[assignment]
    client = await serve(directory)
    answer = await client.get("/v1/views/zone_demand/rows")
    text = await answer.text()
    assert answer.status == 500
    assert json.loads(text)["type"].endswith("internal-error")
    assert "NoneType" not in text
    assert "NoneType" in caplog.text


async def test_every_answer_carries_the_headers_and_no_banner(serve: Serve) -> None:
    client = await serve(one_task())
    for address in (*NEEDS_TABLES, *ANSWERS_ALWAYS, "/", "/nowhere"):
        headers = (await client.get(address)).headers
        assert headers["Cache-Control"] == "no-store", address
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "Server" not in headers


async def test_requests_to_nowhere_are_counted_under_one_name(serve: Serve) -> None:
    """Else whoever makes addresses up makes series up."""
    client = await serve(one_task())
    for address in ("/made", "/up/v1/views"):
        assert (await client.get(address)).status == 404
    counted = await (await client.get("/metrics")).text()
    assert 'flagfall_http_request_duration_seconds_count{route="unmatched",status="404"} 2.0' in counted
    assert "made" not in counted


async def test_the_api_document_is_valid_and_holds_every_route(serve: Serve) -> None:
    client = await serve(one_task())
    document = await (await client.get("/openapi.json")).json()
    validate(document)
    expected = {r.path.replace("{view}", v.name) for r in ROUTES for v in VIEWS}
    assert set(document["paths"]) == expected
    served = {resource.canonical for resource in client.app.router.resources()} if client.app else set()
    assert served - {"/{path}"} == {route.path for route in ROUTES}  # that one takes what is nowhere
    names = [p["name"] for p in document["paths"]["/v1/views/by_base/rows"]["get"]["parameters"]]
    assert names == ["base", "zone", "from", "to", "window", "last", "limit", "cursor", "order", "partial", "format"]


async def test_answers_follow_their_schema(serve: Serve) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    client = await serve(one_task())
    document = await (await client.get("/openapi.json")).json()
    for address in DESCRIBED:
        answer = document["paths"][address]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        schema = answer | {"components": document["components"]}
        jsonschema.Draft202012Validator(schema).validate(await (await client.get(address)).json())


async def test_metrics_tell_positions_rows_ledgers_and_the_last_verdicts(serve: Serve, tmp_path: Path) -> None:
    directory = one_task()
    directory.log_end = {("rides.yellow", 0): 105}
    client = await serve(directory)
    wrote(tmp_path, {ZONE_DEMAND: 0, VENDOR_TRIPS: 2}, NOON)
    wrote(tmp_path, {VENDOR_TRIPS: 0}, NOON + timedelta(days=1), ends=False)
    await client.get("/v1/views/zone_demand/rows")
    await client.get("/v1/views/zone_demand/rows?limit=0")
    text = await (await client.get("/metrics")).text()
    values = {
        (s.name, *sorted(s.labels.values())): s.value for f in text_string_to_metric_families(text) for s in f.samples
    }
    assert values["flagfall_position", "0", "rides.yellow"] == 100
    assert values["flagfall_lag_records", "0", "rides.yellow"] == 5
    assert values["flagfall_view_rows", "0", "zone_demand"] == 2
    assert values["flagfall_records_total", "0", "decoded", "rides.yellow"] == 100
    assert values["flagfall_worker_standing", "ready"] == 1
    assert values["flagfall_reconciliation_verdict", "MATCH", "zone_demand"] == 1
    assert values["flagfall_reconciliation_verdict", "MISMATCH", "vendor_trips"] == 1
    assert values["flagfall_reconciliation_residual_rows", "vendor_trips"] == 2
    begun = [
        values["flagfall_reconciliation_begun_timestamp_seconds", view] for view in ("zone_demand", "vendor_trips")
    ]
    finished = values["flagfall_reconciliation_finished_timestamp_seconds", "vendor_trips"]
    assert (begun, finished) == ([NOON.timestamp(), NOON.timestamp() + 86_400], NOON.timestamp() + 60)
    assert values["flagfall_http_request_duration_seconds_count", "/v1/views/{view}/rows", "200"] == 1
    assert values["flagfall_http_request_duration_seconds_count", "/v1/views/{view}/rows", "400"] == 1


async def test_metrics_tell_how_many_records_each_rule_holds_of(serve: Serve) -> None:
    rows = {RowKey(None, (vendor,)): cells_of(CLEANLINESS, seed) for vendor, seed in (("1", 1), (None, 2))}
    client = await serve(ready_directory([task_of(3, {ZONE_DEMAND: {}, VENDOR_TRIPS: {}, CLEANLINESS: rows})]))
    text = await (await client.get("/metrics")).text()
    told = {
        s.labels["rule"]: s.value
        for f in text_string_to_metric_families(text)
        for s in f.samples
        if s.name == "flagfall_unclean_records_total"
    }
    place = CLEANLINESS.cells.index("goes_far")
    assert told.keys() == {rule.name for rule in CLEANLINESS.source.rules}
    assert told["goes_far"] == sum(cells[place] for cells in rows.values())


async def test_a_view_tells_the_rules_that_it_reads(tmp_path: Path) -> None:
    async with server_of(tmp_path, (CLEANLINESS, TIDY)) as serve:
        client = await serve(ready_directory([task_of(0, {CLEANLINESS: {}, TIDY: {}})]))
        views = (await (await client.get("/v1/views")).json())["data"]
    told = [{rule["name"]: (rule["action"], rule["left_out"]) for rule in view["rules"]} for view in views]
    assert told[0] == {rule.name: (rule.action, False) for rule in CLEANLINESS.source.rules}
    assert told[1]["negative_fare"] == ("mark", True)
    assert told[1]["unknown_zone"] == ("count", False)


async def test_a_verdict_that_makes_no_sense_is_shown_as_such(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "reconciliation").mkdir()
    (tmp_path / "reconciliation" / "latest.json").write_text("{")
    client = await serve(one_task())
    assert "UNREADABLE" in await (await client.get("/")).text()
    assert 'verdict="UNREADABLE"' in await (await client.get("/metrics")).text()


async def test_the_page_shows_the_last_verdict_with_its_date_and_that_a_later_run_has_not_ended(
    serve: Serve, tmp_path: Path
) -> None:
    client = await serve(one_task())
    assert "none yet" in await (await client.get("/")).text()
    wrote(tmp_path, {ZONE_DEMAND: 0, VENDOR_TRIPS: 0}, NOON)
    wrote(tmp_path, {VENDOR_TRIPS: 0}, NOON + timedelta(days=1), ends=False)
    text = await (await client.get("/")).text()
    assert '<div class="card good">\n      <dt>Last verdict</dt>\n      <dd>MATCH</dd>' in text
    assert "0 unexplained rows · 2026-01-05 12:01 UTC" in text
    assert "began 2026-01-06 12:00 UTC and has not ended" in text


async def test_an_export_is_the_task_its_marker_and_nothing_else(serve: Serve) -> None:
    directory = one_task()
    client = await serve(directory)
    answer = await client.get("/v1/views/zone_demand/export?partition=0")
    metadata, table = read_export(await answer.read())
    check_digest(ZONE_DEMAND, metadata, table)
    task = directory.tasks[0]
    assert (metadata.marker, metadata.changelog_offset) == (task.marker, task.marker_offset)
    assert stored_rows(ZONE_DEMAND, table) == task.views["zone_demand"].stored()


async def test_an_export_of_another_workers_task_sends_the_client_there_once(serve: Serve) -> None:
    there = await serve(one_task())
    directory = ready_directory([], partitions=1)
    directory.owners = {0: url_of(there)}
    here = await serve(directory)
    answer = await here.get("/v1/views/zone_demand/export?partition=0", allow_redirects=False)
    assert (answer.status, answer.headers["Location"].startswith(url_of(there))) == (307, True)
    followed = await here.get("/v1/views/zone_demand/export?partition=0")
    assert read_export(await followed.read())[0].row_count == 2
    again = await here.get("/v1/views/zone_demand/export?partition=0&hop=1", allow_redirects=False)
    assert again.status == 503


async def test_an_export_is_of_one_marker_while_the_task_goes_on(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_handler, "SLICE_ROWS", 16)
    monkeypatch.setattr(long_work, "COPY_ROWS", 16)
    table = zone_table(*((pane, zone) for pane in range(40) for zone in range(1, 30)))
    directory = ready_directory([task_of(0, {ZONE_DEMAND: table})])
    state = directory.tasks[0].views["zone_demand"]
    before = state.stored()
    client = await serve(directory)
    answer = await client.get("/v1/views/zone_demand/export?partition=0")
    every_slot = np.arange(len(state))
    state.swap_in(ViewChange(every_slot, state.cells_at(every_slot) + 1, state.rows_at(every_slot[:0])))
    metadata, exported = read_export(await answer.read())
    check_digest(ZONE_DEMAND, metadata, exported)
    assert stored_rows(ZONE_DEMAND, exported) == before


async def test_an_export_gives_the_loop_back(serve: Serve) -> None:
    table = {
        RowKey(NOON_US + pane * PANE_US, (zone,)): cells_of(ZONE_DEMAND, zone)
        for pane in range(200)
        for zone in range(1, 100)
    }
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: table})]))
    turns, done = 0, asyncio.Event()

    async def count_turns() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await (await client.get("/v1/views/zone_demand/export?partition=0")).read()
    done.set()
    await counting
    assert turns > len(table) / export_handler.SLICE_ROWS


async def test_the_page_shows_zone_names_positions_and_escapes_what_it_shows(serve: Serve) -> None:
    rows = {RowKey(NOON_US, ("<script>", 132)): cells_of(BY_BASE, 1)}
    tables = {ZONE_DEMAND: zone_table((0, 132)), BY_BASE: rows, VENDOR_TRIPS: {}}
    client = await serve(ready_directory([task_of(0, tables, next_offset=1234)]))
    answer = await client.get("/")
    text = await answer.text()
    assert answer.status == 200
    assert "JFK Airport" in text
    assert "1,234" in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    assert "style=" not in text


async def test_the_runner_serves_and_stops_at_once(tmp_path: Path, unused_tcp_port: int) -> None:
    runner = create_runner(create_app([ServedGroup("rides", one_task(), VIEWS, (RIDES,))], tmp_path))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    async with ClientSession() as session, session.get(f"http://127.0.0.1:{unused_tcp_port}/livez") as answer:
        assert answer.status == 200
    async with asyncio.timeout(30):  # aiohttp's own patience is a minute
        await runner.cleanup()
