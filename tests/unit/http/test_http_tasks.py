"""`/v1/tasks`: where tasks stand, whoever owns them, and whatever views are over their sources."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from click.testing import CliRunner

from app.base.worker_door import WorkerDoor
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import BuildPosition, ViewPosition
from app.domain.view import View
from app.edge.cli.tables.status import command as status
from app.edge.http.application import create_app
from app.edge.http.context import ServedGroup
from app.edge.local.ask import where_tasks_stand
from app.engine.drive.ownership.directory import Directory
from app.engine.drive.standing import GroupStanding
from app.rides.lifecycle.sources import FARES, RIDE_EVENTS
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import NOON_US, Client, url_of, zone_table
from tests.support.material.stored.runs import verdicts_in
from tests.support.material.stored.tables import ready_directory, task_of

LIVES = (RIDE_EVENTS, FARES)
TOPICS = [topic.name for source in (RIDES, *LIVES) for topic in source.topics]


def rides(views: tuple[View, ...] = (ZONE_DEMAND, VENDOR_TRIPS), *, partitions: int = 2) -> ServedGroup:
    """Tasks of the rides that keep these views."""
    tables = {view: zone_table((0, 132)) if view is ZONE_DEMAND else {} for view in views}
    tasks = [task_of(p, tables, sources=(RIDES,), watermark_us=NOON_US + p) for p in range(partitions)]
    return ServedGroup("rides", ready_directory(tasks), views, (RIDES,))


def lives(*, partitions: int = 2) -> ServedGroup:
    """Tasks of two sources over which nobody declared a view."""
    tasks = [task_of(p, {}, sources=LIVES, next_offset=7, watermark_us=NOON_US) for p in range(partitions)]
    return ServedGroup("ride_events", ready_directory(tasks), (), LIVES)


@asynccontextmanager
async def worker_of(data_dir: Path, *groups: ServedGroup) -> AsyncIterator[Client]:
    """One worker that owns whatever its directories do not give to another."""
    async with TestClient(TestServer(create_app(groups, verdicts_in(data_dir)))) as client:
        for group in groups:
            here, at = url_of(client), group.directory
            at.owners = {p: here if owner == at.url else owner for p, owner in at.owners.items()}
            at.url = here
        yield client


async def tasks_of(client: Client, address: str = "/v1/tasks") -> list[dict[str, Any]]:
    answer = await client.get(address)
    assert answer.status == 200, await answer.text()
    told: list[dict[str, Any]] = (await answer.json())["data"]
    return told


async def test_tasks_of_a_source_without_a_view_are_told_like_all_others(tmp_path: Path) -> None:
    async with worker_of(tmp_path, rides(), lives()) as client:
        told = await tasks_of(client)
        assert [(task["group"], task["partition"], task["state"]) for task in told] == [
            ("rides", 0, "live"),
            ("rides", 1, "live"),
            ("ride_events", 0, "live"),
            ("ride_events", 1, "live"),
        ]
        last = told[-1]
        assert (last["sources"], last["owner"]) == (["ride_events", "fares"], url_of(client))
        assert last["position"] == {"fares-1": 7, "ride_events-1": 7}
        assert last["as_of"] == "2024-01-31T12:00:00Z"


@pytest.mark.parametrize("views", [(ZONE_DEMAND, VENDOR_TRIPS), (VENDOR_TRIPS,), ()])
async def test_positions_are_the_same_whichever_views_are_left(tmp_path: Path, views: tuple[View, ...]) -> None:
    async with worker_of(tmp_path, rides(views)) as client:
        told = await tasks_of(client)
        assert [len(task["position"]) for task in told] == [len(RIDES.topics)] * 2
        stand = await asyncio.to_thread(where_tasks_stand, WorkerDoor(url_of(client)), "rides")
        assert stand["position"] == {f"{t.name}-{p}": 100 for t in RIDES.topics for p in range(2)}


async def test_only_the_groups_that_are_named_are_told_and_must_be_ready(tmp_path: Path) -> None:
    starting = lives()
    starting.directory.standing = GroupStanding.REBALANCING
    async with worker_of(tmp_path, rides(), starting) as client:
        assert {task["group"] for task in await tasks_of(client, "/v1/tasks?group=rides")} == {"rides"}
        refused = await client.get("/v1/tasks")
        assert (refused.status, (await refused.json(content_type=None))["standing"]) == (503, "rebalancing")
        unknown = await client.get("/v1/tasks?group=taxis")
        assert (unknown.status, (await unknown.json(content_type=None))["allowed"]) == (
            400,
            "one of rides, ride_events",
        )
        mistyped = await client.get("/v1/tasks?groups=rides")
        assert mistyped.status == 400


async def test_tasks_of_other_workers_are_asked_of_their_owners(tmp_path: Path) -> None:
    other = rides()
    async with worker_of(tmp_path, other) as owner:
        here = rides()
        del here.directory.tasks[1], other.directory.tasks[0]
        here.directory.owners = {0: here.directory.url, 1: url_of(owner)}
        other.directory.log_end = {("rides.yellow", 1): 130}
        async with worker_of(tmp_path, here) as client:
            first, second = await tasks_of(client)
            assert (first["owner"], second["owner"]) == (url_of(client), url_of(owner))
            assert second["as_of"] == "2024-01-31T12:00:00.000001Z"
            assert (second["lag_records"]["rides.yellow-1"], second["lag_records"]["rides.green-1"]) == (30, None)


async def test_a_task_that_cannot_be_had_is_a_503_or_named(tmp_path: Path, unused_tcp_port: int) -> None:
    group = rides()
    del group.directory.tasks[1]
    group.directory.owners = {**group.directory.owners, 1: f"http://127.0.0.1:{unused_tcp_port}"}
    async with worker_of(tmp_path, group) as client:
        refused = await client.get("/v1/tasks")
        assert (refused.status, (await refused.json(content_type=None))["missing"][0]["partition"]) == (503, 1)
        answer = await (await client.get("/v1/tasks?partial=allow")).json()
        assert answer["meta"] == {"partial": True}
        assert [task["state"] for task in answer["data"]] == ["live", "missing"]
        assert answer["data"][1]["why"].endswith(" cannot be reached: connection refused")


async def test_a_task_without_a_watermark_or_with_a_view_that_is_built_says_so(tmp_path: Path) -> None:
    group = rides((ZONE_DEMAND,), partitions=1)
    task = group.directory.tasks[0]
    yellow = replace(task.marker.inputs["rides.yellow"], watermark_us=NO_WATERMARK)
    start, built = {"rides.yellow": 10}, {"rides.yellow": BuildPosition(30)}
    view = ViewPosition(ZONE_DEMAND.number, ZONE_DEMAND.version, "building", start, built=built)
    task.marker = replace(
        task.marker, inputs={**task.marker.inputs, "rides.yellow": yellow}, views={"zone_demand": view}
    )
    async with worker_of(tmp_path, group) as client:
        (told,) = await tasks_of(client)
        assert (told["state"], told["building"]) == (
            "building",
            {"zone_demand": {"done_offsets": 20, "all_offsets": 90}},
        )
        assert (told["as_of"], told["watermark"]["rides.yellow-0"]) == (None, None)


async def test_workers_ask_each_other_for_one_group_and_tell_their_own_tasks(tmp_path: Path) -> None:
    async with worker_of(tmp_path, rides(), lives()) as client:
        own = await (await client.get("/v1/internal/tasks?group=ride_events&partition=1")).json()
        assert [task["partition"] for task in own] == [1]
        for address in ("/v1/internal/tasks?partition=1", "/v1/internal/tasks?group=rides&partition=2"):
            assert (await client.get(address)).status == 400


async def test_the_page_shows_positions_of_a_source_without_a_view(tmp_path: Path) -> None:
    async with worker_of(tmp_path, rides((VENDOR_TRIPS,)), lives()) as client:
        text = await (await client.get("/")).text()
        assert all(f">{topic}</th>" in text for topic in TOPICS)
        assert "Positions of ride_events" in text
        assert "4 of 4 tasks here" in text


async def test_status_lists_the_inputs_of_every_source_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLAGFALL_DATA_DIR", str(tmp_path))
    group = lives()
    async with worker_of(tmp_path, rides((ZONE_DEMAND,)), group) as client:
        shown = await run_status(client)
        assert (shown.exit_code, shown.return_value) == (0, 0)
        assert all(f"{topic}-{p} " in shown.output for topic in TOPICS for p in range(2))
        assert f"zone_demand    version {ZONE_DEMAND.version}, never reconciled" in shown.output
        told = json.loads((await run_status(client, "--json")).output)
        assert [len(told["tasks"]), told["views"]["zone_demand"]["reconciled"]] == [4, None]
        del group.directory.tasks[0]
        shown = await run_status(client)
        assert (shown.return_value, "task 0 of ride_events is MISSING" in shown.output) == (1, True)


async def run_status(client: Client, *arguments: str) -> Any:
    """The command in a thread, so that the server's loop goes on."""
    return await asyncio.to_thread(
        CliRunner().invoke, status, ["--worker", url_of(client), *arguments], standalone_mode=False
    )


def test_a_directory_gives_the_lag_where_the_end_is_known() -> None:
    directory = Directory("http://here", log_end={("rides.yellow", 0): 130})
    position = task_of(0, {}, sources=(RIDES,)).marker.inputs["rides.yellow"]
    assert (directory.lag_records("rides.yellow", 0, position), directory.lag_records("rides.green", 0, position)) == (
        30,
        None,
    )
