"""Changes of an answer as server-sent events: what breaks off goes on, or says why not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.edge.http.changes import feed
from app.edge.http.changes.feeds import MOST_UNHEARD
from app.engine.drive.standing import GroupStanding
from app.rides.views import ZONE_DEMAND
from tests.support.following.event_stream import events_of
from tests.support.following.follower import CHANGES, THREE, Follower, directory_of, put, rows_of
from tests.support.http import Serve, server_of, url_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of


async def test_who_comes_back_is_told_what_changed_since(serve: Serve) -> None:
    directory = directory_of(THREE)
    client = await serve(directory)
    async with events_of(client, CHANGES) as stays, events_of(client, CHANGES) as leaves:
        had = await leaves.next()
        leaves.response.close()
        stayed = Follower(stays)
        await stayed.take()
        put(directory, zone_table((0, 4), (1, 132)))
        await stayed.until(await rows_of(client))
        async with events_of(client, CHANGES, last=had.id) as again:
            back = Follower(again, had.data["rows"])
            assert (await back.take()).name == "changes"
    assert back.rows == stayed.rows


async def test_nobody_else_need_listen_meanwhile(serve: Serve) -> None:
    directory = directory_of(THREE)
    client = await serve(directory)
    async with events_of(client, CHANGES) as leaves:
        had = await leaves.next()
    put(directory, zone_table((0, 4), (1, 132)))
    async with events_of(client, CHANGES, last=had.id) as again, events_of(client, CHANGES) as new:
        back, begins = Follower(again, had.data["rows"]), Follower(new)
        assert ((await back.take()).name, (await begins.take()).name) == ("changes", "snapshot")
    assert back.rows == begins.rows


async def test_the_past_of_questions_that_nobody_asks_any_more_is_kept_for_some(serve: Serve) -> None:
    directory = directory_of(THREE)
    client = await serve(directory)
    async with events_of(client, CHANGES) as leaves:
        had = await leaves.next()
    put(directory, zone_table((0, 4), (1, 132)))
    for limit in range(1, MOST_UNHEARD + 2):
        async with events_of(client, f"{CHANGES}?limit={limit}") as other:
            await other.next()
    async with events_of(client, CHANGES, last=had.id) as again:
        assert (await again.next()).name == "gap"


async def test_who_comes_back_and_missed_nothing_gets_no_rows(serve: Serve) -> None:
    client = await serve(directory_of(THREE))
    async with events_of(client, CHANGES) as stream:
        had = await stream.next()
    async with events_of(client, CHANGES, last=had.id) as again:
        event = await again.next()
    assert (event.name, event.id) == ("same", had.id)
    assert "rows" not in event.data


async def test_two_workers_give_the_same_rows_the_same_id(tmp_path: Path, serve: Serve) -> None:
    one, other = await serve(directory_of(THREE)), await serve(directory_of(THREE))
    async with events_of(one, CHANGES) as stream:
        had = await stream.next()
    async with events_of(other, CHANGES, last=had.id) as again:
        assert (await again.next()).name == "same"


async def test_what_is_not_known_any_more_is_told_as_a_gap_and_all_rows_follow(serve: Serve) -> None:
    client = await serve(directory_of(THREE))
    async with events_of(client, CHANGES, last="0123") as stream:
        gap, snapshot = await stream.next(), await stream.next()
    assert (gap.name, gap.id, gap.data["after"]) == ("gap", None, "0123")
    assert snapshot.name == "snapshot"
    assert len(snapshot.data["rows"]) == 3


async def test_a_rebalance_is_told_and_the_stream_goes_on_behind_it(serve: Serve) -> None:
    directory = directory_of(THREE)
    client = await serve(directory)
    async with events_of(client, CHANGES) as stream:
        reader = Follower(stream)
        await reader.take()
        directory.standing = GroupStanding.REBALANCING
        problem = await stream.named("problem")
        put(directory, zone_table((0, 4)))
        directory.standing = GroupStanding.READY
        await reader.until(await rows_of(client))
    assert problem.id is None
    assert problem.data["type"].endswith("not-ready")
    assert (problem.data["status"], problem.data["instance"]) == (503, CHANGES)


async def test_a_worker_that_is_not_ready_begins_no_stream(serve: Serve) -> None:
    directory = directory_of(THREE)
    directory.standing = GroupStanding.RECOVERING
    directory.tasks = {}
    client = await serve(directory)
    response = await client.get(CHANGES)
    assert response.status == 503
    assert response.headers["Retry-After"]


async def test_a_worker_that_stops_ends_its_streams_and_says_why(tmp_path: Path) -> None:
    async with server_of(tmp_path) as start:
        client = await start(directory_of(THREE))
        async with events_of(client, CHANGES) as stream:
            await stream.next()
            closing = asyncio.create_task(client.server.close())
            problem = await stream.named("problem")
            with pytest.raises(EOFError):
                await stream.named("snapshot")
            await closing
    assert problem.data["standing"] == "stopping"


async def test_more_streams_than_a_worker_may_have_are_refused(serve: Serve) -> None:
    client = await serve(directory_of(THREE))
    async with events_of(client, CHANGES), events_of(client, CHANGES):
        response = await client.get(CHANGES)
        told = await response.json()
    assert (response.status, response.headers["Retry-After"]) == (429, "2")
    assert "FLAGFALL_HTTP_MAX_STREAMS" in told["detail"]
    while (response := await client.get(CHANGES)).status == 429:
        response.release()
    response.close()


async def test_changes_in_tasks_of_another_worker_are_told_and_so_is_its_silence(serve: Serve) -> None:
    other = ready_directory([task_of(1, {ZONE_DEMAND: zone_table((1, 3))})], partitions=2)
    there = await serve(other)
    directory = ready_directory([task_of(0, {ZONE_DEMAND: THREE})], partitions=2)
    directory.owners = {0: directory.url, 1: url_of(there)}
    here = await serve(directory)
    async with events_of(here, CHANGES) as stream:
        reader = Follower(stream)
        await reader.until(await rows_of(here))
        put(other, zone_table((1, 3), (2, 7), seed=30), partition=1)
        await reader.until(await rows_of(here))
        other.standing = GroupStanding.REBALANCING
        problem = await stream.named("problem")
        put(other, zone_table((1, 5)), partition=1)
        other.standing = GroupStanding.READY
        await reader.until(merged := await rows_of(here))
    assert problem.data["type"].endswith("partitions-missing")
    assert problem.data["missing"][0]["partition"] == 1
    assert len(merged) == 4


async def test_what_fails_unforeseen_ends_the_stream_and_is_logged(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    directory = directory_of(THREE)
    client = await serve(directory)
    async with events_of(client, CHANGES) as stream:
        await stream.next()
        monkeypatch.setattr(feed, "shown", None)
        put(directory, zone_table((0, 4)))
        problem = await stream.named("problem")
        with pytest.raises(EOFError):
            await stream.next()
    assert problem.data["type"].endswith("internal-error")
    assert "changes of zone_demand cannot be told" in caplog.text
