"""An answer that covers what its client has written, or has seen before: waited for, and never less."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

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
    task = task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=100)
    directory = ready_directory([task])
    client = await serve(directory)
    asked = asyncio.create_task(client.get(ROWS, params={"min_position": "rides.yellow-0:101", "wait": "5s"}))
    answered, _ = await asyncio.wait([asked], timeout=0.2)
    assert not answered
    yellow = replace(task.marker.inputs["rides.yellow"], next_offset=101)
    inputs = task.marker.inputs | {"rides.yellow": yellow}
    directory.tasks[0] = replace(task, marker=replace(task.marker, inputs=inputs))
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


@pytest.mark.parametrize(
    "parameters",
    [
        {"min_position": ""},
        {"min_position": "rides.yellow-0"},
        {"min_position": "elsewhere-0:7"},
        {"min_position": "rides.yellow-1:7"},
        {"min_position": "rides.yellow-0:-7"},
        {"min_position": "rides.yellow-0:99999999999999999999"},
        {"min_position": "rides.yellow-0:7", "wait": "6s"},
        {"min_position": "rides.yellow-0:7", "wait": "soon"},
        {"wait": "1s"},
    ],
)
async def test_what_is_no_position_or_no_time_is_refused(serve: Serve, parameters: dict[str, str]) -> None:
    client = await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))}, next_offset=100)]))
    assert await status_of(client, **parameters) == 400
