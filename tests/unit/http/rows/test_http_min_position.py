"""An answer that covers what its client has written, or has seen before: waited for, and never less."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from app.base.setting_groups import HttpSettings
from app.edge.http.context import Edge
from app.edge.http.entry.admission import ADMISSION
from app.edge.http.positions import standing
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.route import WAITS
from app.edge.http.rows.gather import Gathered, gather
from app.engine.drive.ownership.directory import Directory
from app.rides.views import ZONE_DEMAND
from tests.support.http import Client, Serve, server_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path) as start:
        yield start


async def status_of(client: Client, **parameters: str) -> int:
    return (await client.get(ROWS, params=parameters)).status


async def test_a_position_that_is_covered_is_answered_at_once(serve: Serve) -> None:
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=100)]))
    assert await status_of(client, min_position="rides.yellow-0:100,rides.green-0:7") == 200


async def test_an_answer_waits_until_the_tables_cover_the_position(serve: Serve) -> None:
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=100)])
    client = await serve(directory)
    asked = asyncio.create_task(client.get(ROWS, params={"min_position": "rides.yellow-0:101", "wait": "5s"}))
    answered, _ = await asyncio.wait([asked], timeout=0.2)
    assert not answered
    move(directory, to_offset=101)
    answer = await asked
    assert answer.status == 200
    assert (await answer.json())["meta"]["position"]["rides.yellow-0"] == 101


async def test_what_is_not_covered_in_time_is_said_with_where_it_is(serve: Serve) -> None:
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=100)]))
    answer = await client.get(ROWS, params={"min_position": "rides.yellow-0:101", "wait": "1s"})
    problem = await answer.json()
    assert (answer.status, problem["type"]) == (503, "urn:flagfall:problem:not-reached")
    assert problem["position"] == {"rides.yellow-0": 100}
    assert "Retry-After" in answer.headers


async def test_a_position_may_name_every_partition_of_many_tasks(serve: Serve) -> None:
    """What an answer told last is given back whole."""
    tasks = [task_of(p, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=12_345_678) for p in range(64)]
    client = await serve(ready_directory(tasks))
    told = (await (await client.get(ROWS)).json())["meta"]["position"]
    assert len(told) == 64 * len(ZONE_DEMAND.source.topics)
    assert await status_of(client, min_position=",".join(f"{place}:{offset}" for place, offset in told.items())) == 200


async def test_who_waits_takes_no_place_of_those_who_ask(tmp_path: Path) -> None:
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=100)])
    limits = HttpSettings(max_requests=1, max_waiting_requests=1, max_waits=2)
    async with server_of(tmp_path, limits=limits) as start:
        client = await start(directory)
        later = {"min_position": "rides.yellow-0:101", "wait": "5s"}
        waits = [asyncio.create_task(client.get(ROWS, params=later)) for _ in range(2)]
        await waiting(client, 2)
        assert await status_of(client) == 200
        assert await status_of(client, min_position="rides.yellow-0:100") == 200
        refused = await client.get(ROWS, params=later)
        told = await refused.json()
        assert (refused.status, told["type"]) == (503, "urn:flagfall:problem:busy")
        assert "FLAGFALL_HTTP_MAX_WAITS" in told["detail"]
        move(directory, to_offset=101)
        assert [(await asked).status for asked in waits] == [200, 200]
        await waiting(client, 0)


async def test_a_mistake_is_told_before_anything_is_waited_for(serve: Serve) -> None:
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=100)]))
    async with asyncio.timeout(2):
        for wrong in ({"limit": "none"}, {"format": "paper"}):
            assert await status_of(client, min_position="rides.yellow-0:101", wait="5s", **wrong) == 400


async def test_all_who_wait_share_one_look_after_the_other(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, together = Counter[str](), 0

    async def counted(edge: Edge, query: RowsQuery, **which: Any) -> Gathered:
        nonlocal together
        together += 1
        looks["most together"] = max(looks["most together"], together)
        looks["all"] += 1
        await asyncio.sleep(0.01)
        together -= 1
        return await gather(edge, query, **which)

    monkeypatch.setattr(standing, "gather", counted)
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=100)]))
    later = {"min_position": "rides.yellow-0:101", "wait": "1s"}
    answers = await asyncio.gather(*(client.get(ROWS, params=later) for _ in range(60)))
    assert {answer.status for answer in answers} == {503}
    assert looks["most together"] == 1
    assert looks["all"] < 60


async def hang(_: web.Request) -> web.Response:
    """What a stopped owner answers."""
    await asyncio.get_running_loop().create_future()
    return web.Response()


def beside(owner: str) -> Directory:
    """Of a worker that owns the first of two tasks."""
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=100)], partitions=2)
    directory.owners[1] = owner
    return directory


async def test_an_owner_that_says_nothing_is_told_as_that_when_the_wait_is_over(serve: Serve) -> None:
    """Not that its tables cover nothing; and no longer is waited for it than was asked."""
    owner = web.Application()
    owner.router.add_get("/{any:.*}", hang)
    async with TestServer(owner) as server:
        url = str(server.make_url("")).rstrip("/")
        client = await serve(beside(url))
        answer = await client.get(ROWS, params={"min_position": "rides.yellow-1:5", "wait": "1s"})
        problem = await answer.json()
    assert (answer.status, problem["type"]) == (503, "urn:flagfall:problem:partitions-missing")
    why = f"nothing was heard of its owner {url} within 1 s"
    assert problem["missing"] == [{"partition": 1, "owner": url, "why": why}]
    assert why in problem["detail"]


async def test_who_waits_for_one_task_does_not_wait_for_the_owner_of_another(serve: Serve) -> None:
    owner, asked = web.Application(), {"partial": "allow", "wait": "1s"}
    owner.router.add_get("/{any:.*}", hang)
    async with TestServer(owner) as server:
        directory = beside(str(server.make_url("")).rstrip("/"))
        client = await serve(directory)
        covered = await client.get(ROWS, params=asked | {"min_position": "rides.yellow-0:100"})
        assert (covered.status, (await covered.json())["meta"]["position"]["rides.yellow-0"]) == (200, 100)
        behind = await (await client.get(ROWS, params=asked | {"min_position": "rides.yellow-0:101"})).json()
    assert (behind["type"], behind["position"]) == ("urn:flagfall:problem:not-reached", {"rides.yellow-0": 100})


@pytest.mark.parametrize("owner", ["http://127.0.0.1:1", None])
async def test_a_task_that_nobody_can_be_asked_for_is_told_with_the_reason(serve: Serve, owner: str | None) -> None:
    directory = beside(owner or "")
    if owner is None:
        del directory.owners[1]
    client = await serve(directory)
    answer = await client.get(ROWS, params={"min_position": "rides.yellow-1:5,rides.yellow-0:900", "wait": "1s"})
    problem = await answer.json()
    assert (answer.status, problem["type"]) == (503, "urn:flagfall:problem:partitions-missing")
    (missing,) = problem["missing"]
    assert missing["partition"] == 1
    assert ("cannot be reached" if owner else "no worker owns it") in missing["why"]
    assert "partial=allow" not in problem["detail"]


async def waiting(client: Client, many: int) -> None:
    """Until so many wait for a position."""
    assert client.app is not None
    async with asyncio.timeout(60):
        while client.app[ADMISSION].gates[WAITS].inside != many:
            await asyncio.sleep(0)


def move(directory: Directory, to_offset: int) -> None:
    """The task has read so far."""
    task = directory.tasks[0]
    yellow = replace(task.marker.inputs["rides.yellow"], next_offset=to_offset)
    directory.tasks[0] = replace(
        task, marker=replace(task.marker, inputs=task.marker.inputs | {"rides.yellow": yellow})
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"min_position": ""},
        {"min_position": "rides.yellow-0"},
        {"min_position": "elsewhere-0:7"},
        {"min_position": "rides.yellow-1:7"},
        {"min_position": "rides.yellow-0:-7"},
        {"min_position": "rides.yellow-0:99999999999999999999"},
        {"min_position": "rides.yellow-0:1,rides.yellow-0:2"},
        {"min_position": "rides.yellow-0:7", "wait": "6s"},
        {"min_position": "rides.yellow-0:7", "wait": "soon"},
        {"wait": "1s"},
    ],
)
async def test_what_is_no_position_or_no_time_is_refused(serve: Serve, parameters: dict[str, str]) -> None:
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=100)]))
    assert await status_of(client, **parameters) == 400
