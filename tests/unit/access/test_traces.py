"""A problem, the log beside its cause and what other workers were asked have one trace, the caller's if it sent one."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from app.base.traces import HEADER, begin_trace
from app.edge.http import owners, problems
from app.engine.drive.logs import REPEATING
from app.engine.drive.standing import GroupStanding
from app.rides.views import ZONE_DEMAND
from tests.support.captured_log import Log
from tests.support.http import Client, server_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SENT = f"00-{TRACE}-00f067aa0ba902b7-01"
ROWS = f"/v1/views/{ZONE_DEMAND.name}/rows"


@asynccontextmanager
async def worker_beside(folder: Path, owner: web.Application) -> AsyncIterator[Client]:
    """A worker of one partition; the other is owned by `owner`."""
    async with TestServer(owner) as there, server_of(folder) as serve:
        directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 1))})], partitions=2)
        directory.owners = {0: directory.url, 1: str(there.make_url("")).rstrip("/")}
        yield await serve(directory)


def owner_that(answer: str | bytes, asked: list[str]) -> web.Application:
    """Answers whatever it is asked, and keeps the traces that it was asked under."""

    async def handler(request: web.Request) -> web.Response:
        asked.append(request.headers[HEADER])
        return web.Response(body=answer)

    app = web.Application()
    app.router.add_get("/{any:.*}", handler)
    return app


async def test_the_callers_trace_stands_in_the_problem_and_goes_to_the_other_workers(tmp_path: Path) -> None:
    asked: list[str] = []
    async with worker_beside(tmp_path, owner_that("no rows", asked)) as client:
        refused = await client.get(ROWS, headers={HEADER: SENT})
        problem = await refused.json(content_type=None)
    assert (refused.status, problem["trace_id"]) == (503, TRACE)
    assert asked
    for onward in asked:
        assert re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-01", onward)
        assert onward != SENT


async def test_requests_over_one_connection_do_not_share_a_trace(tmp_path: Path) -> None:
    async with worker_beside(tmp_path, owner_that("no rows", [])) as client:
        told = [
            (await (await client.get("/nowhere", headers=headers)).json(content_type=None))["trace_id"]
            for headers in ({HEADER: SENT}, {}, {})
        ]
    assert told[0] == TRACE
    assert len(set(told)) == 3


async def test_what_nobody_foresaw_is_in_the_log_under_the_trace_that_the_caller_has(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("unforeseen")

    monkeypatch.setattr(owners, "_by_owner", fail)
    async with worker_beside(tmp_path, owner_that("no rows", [])) as client:
        answer = await client.get(ROWS, headers={HEADER: SENT})
        problem = await answer.json(content_type=None)
    assert (answer.status, problem["trace_id"]) == (500, TRACE)
    assert TRACE in problem["detail"]
    assert "unforeseen" not in str(problem)
    assert TRACE in caplog.text
    assert "unforeseen" in caplog.text


async def test_a_refusal_by_5xx_is_a_line_under_its_trace_in_the_log_of_who_answers_and_of_the_owner_that_failed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with server_of(tmp_path) as serve:
        owner = ready_directory([], partitions=2)
        owner.standing = GroupStanding.LOST
        away = await serve(owner)
        asked = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 1))})], partitions=2)
        asked.owners = {0: asked.url, 1: str(away.make_url("")).rstrip("/")}
        client = await serve(asked)
        refused = await client.get(ROWS, params={"zone": "7"}, headers={HEADER: SENT})
    assert refused.status == 503
    told = [(one.route, one.problem, one.trace_id) for one in caplog.records if hasattr(one, "trace_id")]
    assert set(told) == {
        ("/v1/views/{view}/rows", "partitions-missing", TRACE),
        ("/v1/internal/views/{view}/parts", "not-ready", TRACE),
    }
    assert all(TRACE in one.getMessage() for one in caplog.records if hasattr(one, "trace_id"))
    assert len([one for one in told if one[1] == "partitions-missing"]) == 1


async def test_what_the_caller_did_wrong_is_no_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with worker_beside(tmp_path, owner_that("no rows", [])) as client:
        refused = await client.get(ROWS, params={"limit": "0"}, headers={HEADER: SENT})
    assert refused.status == 400
    assert TRACE not in caplog.text


async def test_a_caller_that_asks_again_and_again_does_not_flood_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A few are told one by one; other problems are told beside them."""
    caplog.set_level(logging.INFO)
    async with server_of(tmp_path) as serve:
        lost = ready_directory([], partitions=2)
        lost.standing = GroupStanding.LOST
        client = await serve(lost)
        for _ in range(50):
            await client.get(ROWS)
        await client.get("/readyz")
    log = Log()
    for at, record in enumerate(record for record in caplog.records if hasattr(record, "trace_id")):
        log.say(at / 500, record)
    assert len(log.shown) == REPEATING[problems.__name__] + 1
    assert "/readyz" in log.shown[-1]


async def test_an_owner_that_never_ends_is_not_listened_to_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owners, "MOST_BYTES", 1_000)
    async with worker_beside(tmp_path, owner_that(bytes(1_001), [])) as client:
        problem = await (await client.get(ROWS)).json(content_type=None)
    assert "longer than 1,000 bytes" in problem["missing"][0]["why"]


@pytest.mark.parametrize(
    "told",
    [
        None,
        "",
        TRACE,
        SENT.upper(),
        f"{SENT}\n",
        f"ff-{TRACE}-00f067aa0ba902b7-01",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        SENT[:-1],
    ],
)
def test_what_is_no_trace_begins_a_new_one(told: str | None) -> None:
    trace = begin_trace(told)
    assert re.fullmatch("[0-9a-f]{32}", trace.id)
    assert trace.id not in (TRACE, "0" * 32)
    assert trace.id == trace.id
    assert trace.onward().startswith(f"00-{trace.id}-")
