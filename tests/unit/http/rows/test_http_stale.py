"""Who would rather have old rows than none says how old they may be, and is told which are old."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.edge.http.rows import own_parts
from app.engine.core.task_state import TaskState
from app.engine.drive.ownership.directory import Directory, LastKnown, Membership
from app.engine.drive.standing import GroupStanding
from app.rides.views import ZONE_DEMAND
from tests.support.http import Client, Serve, server_of, url_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"
GONE = "http://127.0.0.1:1"


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path) as start:
        yield start


def task(partition: int, *, zones: int = 1, next_offset: int = 100) -> TaskState:
    table = zone_table(*((0, 10 * partition + nth) for nth in range(1, zones + 1)))
    return task_of(partition, {ZONE_DEMAND: table}, next_offset=next_offset)


def beside_a_dead_one(age_seconds: float = 5.0, **of_copy: Any) -> Directory:
    """Of a worker that owns one task and has a copy of the other, whose owner cannot be reached."""
    directory = ready_directory([task(0)], partitions=2)
    directory.owners = {0: directory.url, 1: GONE}
    directory.copies[1] = LastKnown(task(1, **of_copy), time.monotonic() - age_seconds)
    return directory


async def asked(client: Client, max_staleness: str | None = "1m", **more: str) -> tuple[int, Any]:
    told = {} if max_staleness is None else {"max_staleness": max_staleness}
    answer = await client.get(ROWS, params=told | more)
    return answer.status, await answer.json(content_type=None)


async def zones_and_stale(client: Client, max_staleness: str = "1m", **more: str) -> tuple[list[int], list[int]]:
    status, answer = await asked(client, max_staleness, **more)
    assert (status, answer["meta"]["partial"], answer["meta"]["missing"]) == (200, False, []), answer
    zones = [row["group"]["zone"] for row in answer["data"]]
    return zones, [one["partition"] for one in answer["meta"]["stale"]]


async def test_a_copy_answers_where_its_owner_cannot_be_reached(serve: Serve) -> None:
    client = await serve(beside_a_dead_one(next_offset=70))
    status, answer = await asked(client)
    assert status == 200
    assert [row["group"]["zone"] for row in answer["data"]] == [1, 11]
    (stale,) = answer["meta"]["stale"]
    assert stale["partition"] == 1
    assert 5 <= stale["seconds"] < 60
    assert answer["meta"]["position"]["rides.yellow-1"] == 70
    assert answer["meta"]["position"]["rides.yellow-0"] == 100


@pytest.mark.parametrize("allowed", [None, "4s"])
async def test_nothing_older_is_given_than_was_allowed(serve: Serve, allowed: str | None) -> None:
    status, problem = await asked(await serve(beside_a_dead_one()), allowed)
    assert (status, problem["type"]) == (503, "urn:flagfall:problem:partitions-missing")


async def test_what_its_owner_answers_goes_before_a_copy(serve: Serve) -> None:
    there = await serve(ready_directory([task(1, zones=2)], partitions=2))
    directory = beside_a_dead_one()
    directory.owners = {0: directory.url, 1: url_of(there)}
    assert await zones_and_stale(await serve(directory)) == ([1, 11, 12], [])


async def test_tasks_that_are_being_handed_over_are_answered_as_they_were_left(serve: Serve) -> None:
    directory = ready_directory([task(0), task(1)])
    client = await serve(directory)
    directory.standing = GroupStanding.REBALANCING
    assert await zones_and_stale(client) == ([1, 11], [0, 1])
    directory.hand_over({0: directory.tasks[0], 1: directory.tasks[1]})
    assert await zones_and_stale(client) == ([1, 11], [0, 1])
    assert (await asked(client, None))[0] == 503


async def test_another_worker_gives_what_it_knew_last_and_says_how_old_it_is(serve: Serve) -> None:
    far = ready_directory([task(1)], partitions=2)
    there = await serve(far)
    far.standing = GroupStanding.REBALANCING
    far.hand_over({1: far.tasks[1]})
    directory = ready_directory([task(0)], partitions=2)
    directory.owners = {0: directory.url, 1: url_of(there)}
    assert await zones_and_stale(await serve(directory)) == ([1, 11], [1])


async def test_rows_of_a_worker_that_lost_its_group_are_as_old_as_its_last_heartbeat(serve: Serve) -> None:
    directory = ready_directory([task(0)])
    client = await serve(directory)
    directory.membership = Membership(session_timeout_seconds=10, heartbeat_at_seconds=time.monotonic() - 20)
    status, answer = await asked(client)
    assert (status, answer["meta"]["stale"][0]["seconds"] >= 20) == (200, True)
    assert (await asked(client, "19s"))[0] == 503


async def test_a_worker_that_does_not_know_how_many_tasks_there_are_has_no_rows(serve: Serve) -> None:
    status, problem = await asked(await serve(Directory("http://here")))
    assert (status, problem["type"]) == (503, "urn:flagfall:problem:not-ready")


async def test_a_copy_of_another_version_of_the_view_is_none(serve: Serve) -> None:
    directory = beside_a_dead_one()
    state = directory.copies[1].state
    other = {ZONE_DEMAND.name: replace(state.marker.views[ZONE_DEMAND.name], version="other")}
    state.marker = replace(state.marker, views=other)
    assert (await asked(await serve(directory)))[0] == 503


async def test_what_would_be_folded_beside_the_loop_is_not_given_of_a_copy(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await serve(beside_a_dead_one(zones=3))
    assert (await zones_and_stale(client, window="1h"))[1] == [1]
    monkeypatch.setattr(own_parts, "MANY_ROWS", 2)
    assert (await asked(client, window="1h"))[0] == 503


async def test_a_position_that_must_be_covered_goes_with_nothing_stale(serve: Serve) -> None:
    status, problem = await asked(await serve(beside_a_dead_one()), min_position="rides.yellow-1:70")
    assert (status, problem["parameter"]) == (400, "min_position")


@pytest.mark.parametrize("text", ["0s", "25h", "30", "-1s", "2d"])
async def test_an_age_that_cannot_be_is_refused(serve: Serve, text: str) -> None:
    status, problem = await asked(await serve(beside_a_dead_one()), text)
    assert (status, problem["parameter"], "up to 1d" in problem["allowed"]) == (400, "max_staleness", True)


async def test_formats_without_a_place_for_it_say_in_a_header_what_is_stale(serve: Serve) -> None:
    client = await serve(beside_a_dead_one())
    answer = await client.get(ROWS, params={"max_staleness": "1m", "format": "csv"})
    partition, _, seconds = answer.headers["Flagfall-Stale"].partition(":")
    assert (answer.status, partition, float(seconds) >= 5) == (200, "1", True)


async def test_what_is_asked_of_the_last_minutes_is_asked_of_copies_too(serve: Serve) -> None:
    status, answer = await asked(await serve(beside_a_dead_one()), last="5m")
    assert (status, [one["partition"] for one in answer["meta"]["stale"]]) == (200, [1])
