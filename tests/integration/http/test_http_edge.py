"""What holds for every address: problems, headers, the API document."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import jsonschema
import pytest
from openapi_spec_validator import validate
from yarl import URL

from app.edge.http.routes.every_route import ROUTES
from app.rides.views import CLEANLINESS
from tests.support.http import ANSWERS_ALWAYS, NEEDS_TABLES, VIEWS, Serve, one_task, server_of
from tests.support.material.stored.tables import ready_directory, task_of
from tests.support.material.views import TIDY

DESCRIBED = (
    "/v1/views",
    "/v1/views/zone_demand",
    "/v1/views/zone_demand/rows",
    "/v1/zones",
    "/v1/tasks",
    "/livez",
    "/readyz",
)


@pytest.mark.parametrize(
    ("method", "address", "status", "slug"),
    [
        ("GET", "/nowhere", 404, "not-found"),
        ("GET", "/a%20b?c=%C3%A9&d=1+2", 404, "not-found"),
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
        ("GET", "/" + "x" * 17_000, 414, "too-long"),
        ("GET", "/v1/views/vendor_trips/rows?vendor=%FF", 400, "bad-request"),
        ("GET", "/v1/views/vendor_trips/rows?vendor=%ED%A0%80", 400, "bad-request"),
        ("GET", "/v1/views/vendor_trips/rows?%C3=1", 400, "bad-request"),
        ("GET", "/v1/views/zone_demand%FF", 400, "bad-request"),
        ("GET", "/nowhere/%c3%28", 400, "bad-request"),
        ("GET", "/?%80", 400, "bad-request"),
        ("GET", "/livez?%80", 400, "bad-request"),
    ],
)
async def test_every_error_is_a_problem(serve: Serve, method: str, address: str, status: int, slug: str) -> None:
    client = await serve(one_task())
    answer = await client.request(method, URL(address, encoded=True))
    problem = await answer.json(content_type="application/problem+json")
    assert (answer.status, problem["status"], problem["type"]) == (
        status,
        status,
        f"urn:flagfall:problem:{slug}",
    )
    assert problem["title"]
    assert problem["detail"]
    assert problem["instance"] == address
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    if status == 405:
        assert "GET" in answer.headers["Allow"]


async def test_an_address_that_begins_with_two_slashes_is_told_as_it_was_asked(serve: Serve) -> None:
    server = (await serve(one_task())).server
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(b"GET //v1/views?a=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    told = await reader.read()
    writer.close()
    assert json.loads(told.partition(b"\r\n\r\n")[2])["instance"] == "//v1/views?a=1"


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
        kept = "private, no-cache" if address.endswith("/rows") else "no-store"
        assert headers["Cache-Control"] == kept, address
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
    assert "_created" not in counted


async def test_the_api_document_is_valid_and_holds_every_route(serve: Serve) -> None:
    client = await serve(one_task())
    document = await (await client.get("/openapi.json")).json()
    validate(document)
    expected = {r.path.replace("{view}", v.name) for r in ROUTES for v in VIEWS}
    assert set(document["paths"]) == expected
    served = {resource.canonical for resource in client.app.router.resources()} if client.app else set()
    assert served - {"/{path}"} == {route.path for route in ROUTES}  # that one takes what is nowhere
    names = [p["name"] for p in document["paths"]["/v1/views/by_base/rows"]["get"]["parameters"]]
    assert names == [
        *("base", "zone", "from", "to", "window", "step", "last", "group_by", "top", "by", "among", "measures"),
        *("limit", "cursor", "order", "partial", "format", "min_position", "wait", "max_staleness"),
    ]


async def test_answers_follow_their_schema(serve: Serve) -> None:
    client = await serve(one_task())
    document = await (await client.get("/openapi.json")).json()
    for address in DESCRIBED:
        answer = document["paths"][address]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        schema = answer | {"components": document["components"]}
        jsonschema.Draft202012Validator(schema).validate(await (await client.get(address)).json())


async def test_a_view_tells_the_rules_that_it_reads(tmp_path: Path) -> None:
    async with server_of(tmp_path, (CLEANLINESS, TIDY)) as serve:
        client = await serve(ready_directory([task_of(0, {CLEANLINESS: {}, TIDY: {}})]))
        views = (await (await client.get("/v1/views")).json())["data"]
    told = [{rule["name"]: (rule["action"], rule["left_out"]) for rule in view["rules"]} for view in views]
    assert told[0] == {rule.name: (rule.action, False) for rule in CLEANLINESS.source.rules}
    assert told[1]["negative_fare"] == ("mark", True)
    assert told[1]["unknown_zone"] == ("count", False)
