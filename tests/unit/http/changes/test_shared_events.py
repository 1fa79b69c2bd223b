"""What clients of one feed are told alike is made once for all of them, and beside the loop where it is much."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from app.edge.formats.format import Told
from app.edge.http.changes import shared_events
from app.edge.http.changes.events import Events
from app.edge.http.changes.moments import Moments
from app.edge.http.changes.shared_events import KEPT, SharedEvents
from app.edge.http.changes.shown import ShownRows, shown
from app.edge.http.long_work import LongWork
from app.edge.http.query.rows_query import RowsQuery
from app.rides.views import ZONE_DEMAND
from tests.support.following.event_stream import events_of
from tests.support.following.follower import CHANGES, THREE, directory_of, put
from tests.support.http import Serve, zone_table

ON_LOOP = threading.main_thread().name


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads in which snapshots and changes were made, in that order."""
    threads: list[str] = []

    def noting(work: Any) -> Any:
        def noted(*args: Any) -> Any:
            threads.append(threading.current_thread().name)
            return work(*args)

        return noted

    monkeypatch.setattr(shared_events, "whole", noting(shared_events.whole))
    monkeypatch.setattr(shared_events, "difference", noting(shared_events.difference))
    return threads


@pytest.fixture
def work() -> Iterator[LongWork]:
    work = LongWork()
    yield work
    work.close()


def answer(rides: int, **meta: Any) -> ShownRows:
    return shown(RowsQuery(ZONE_DEMAND), Told([{"group": {"zone": 1}, "rides": rides}], meta, dict))


async def test_clients_of_one_question_are_told_what_was_made_once(serve: Serve, made: list[str]) -> None:
    directory = directory_of(THREE)
    client = await serve(directory)
    async with events_of(client, CHANGES) as one, events_of(client, f"{CHANGES}?limit=100") as other:
        assert await one.next() == await other.next()
        assert made == [ON_LOOP]
        put(directory, zone_table((0, 4), (1, 132)))
        assert await one.named("changes") == await other.named("changes")
        assert made == [ON_LOOP] * 2


async def test_what_is_about_many_rows_is_made_in_the_thread_of_long_work(
    serve: Serve, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_events, "MANY_DOCUMENTS", len(THREE) - 1)
    directory = directory_of(THREE)
    client = await serve(directory)
    async with events_of(client, CHANGES) as stream:
        assert len((await stream.next()).data["rows"]) == len(THREE)
        put(directory, zone_table((0, 4), (1, 132)))
        assert len((await stream.named("changes")).data["gone"]) == 1
    assert len(made) == 2
    assert all(name.startswith("long-work") for name in made)


async def test_who_comes_when_the_moment_is_another_gets_its_meta(work: LongWork) -> None:
    moments = Moments(work)
    for position in (1, 2):
        await moments.show(answer(7, position=position))
        (snapshot,) = await Events(moments, "/", None).of(moments.latest)
        assert b'"meta":{"position":%d}' % position in snapshot


async def test_rows_that_stay_while_positions_move_are_kept_once(work: LongWork) -> None:
    moments, first = Moments(work), answer(7, position=1)
    await moments.show(first)
    await moments.show(answer(7, position=2))
    assert moments.latest.now is not None
    assert moments.latest.now.meta == {"position": 2}
    assert moments.latest.now.rows is first.rows


async def test_one_who_leaves_breaks_off_nothing_that_others_wait_for(
    work: LongWork, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_events, "MANY_DOCUMENTS", 0)
    events, now = SharedEvents(work), answer(7)
    leaves, stays = (asyncio.create_task(events.leading_to(now)) for _ in range(2))
    await asyncio.sleep(0)
    leaves.cancel()
    assert (await stays).startswith(b"event: snapshot\n")
    assert leaves.cancelled()
    assert len(made) == 1


async def test_what_nobody_waits_for_any_more_is_not_begun(
    work: LongWork, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_events, "MANY_DOCUMENTS", 0)
    events, may_end = SharedEvents(work), threading.Event()
    before = asyncio.create_task(work.run(True, may_end.wait))
    leaves = asyncio.create_task(events.leading_to(answer(7)))
    try:
        for _ in range(3):
            await asyncio.sleep(0)
        leaves.cancel()
        with suppress(asyncio.CancelledError):
            await leaves
        events.end()
        await asyncio.sleep(0)
    finally:
        may_end.set()
    await before
    await work.run(True, bool)
    assert made == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_many_clients_that_stayed_behind_fill_no_memory(work: LongWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_events, "KEPT_BYTES", 0)
    events, now = SharedEvents(work), answer(0)
    told = [await events.leading_to(now, answer(rides)) for rides in range(1, 9)]
    assert events.kept_bytes == sum(map(len, told[-KEPT:]))
    events.end()
    assert events.kept_bytes == 0


async def test_a_client_that_waits_for_the_next_event_holds_the_last_one_no_more(work: LongWork) -> None:
    moments = Moments(work)
    await moments.show(answer(7))
    events = Events(moments, "/", None).as_they_come(3_600)
    snapshot = await anext(events)
    waits = asyncio.create_task(anext(events))
    await asyncio.sleep(0)
    moments.pause()
    assert sys.getrefcount(snapshot) == 2
    waits.cancel()
