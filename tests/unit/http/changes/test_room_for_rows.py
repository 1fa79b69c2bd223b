"""The rows that streams are about are bounded together: what would be more is refused, or waits, and says why."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from app.base.setting_groups import HttpSettings
from app.edge.http.changes.feeds import FEEDS
from tests.support.following.event_stream import events_of
from tests.support.following.follower import CHANGES, directory_of
from tests.support.http import Client, Serve, server_of, zone_table

MANY = zone_table(*((pane, zone) for pane in range(12) for zone in range(1, 264)))
"""More than a megabyte as JSON."""
ALL, NEWEST = f"{CHANGES}?limit=10000", f"{CHANGES}?limit=10000&order=desc"
FULL = "urn:flagfall:problem:too-many-streams"


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, limits=HttpSettings(max_streamed_mb=1)) as start:
        yield start


@pytest.fixture
async def client(serve: Serve) -> Client:
    return await serve(directory_of(MANY))


async def test_a_stream_about_other_rows_than_there_is_room_for_is_refused(client: Client) -> None:
    async with events_of(client, ALL) as stream:
        assert len((await stream.next()).data["rows"]) == len(MANY)
        refused = await client.get(NEWEST)
        assert refused.status == 429
        assert (await refused.json())["type"] == FULL
        async with events_of(client, ALL) as same:
            assert (await same.next()).name == "snapshot"


async def test_streams_that_come_at_once_are_bound_as_well_and_go_on_when_there_is_room(client: Client) -> None:
    assert client.app is not None
    async with AsyncExitStack() as first:
        async with client.app[FEEDS]._looks.turn():
            one = await first.enter_async_context(events_of(client, ALL))
            other = events_of(client, NEWEST)
            waiting = await other.__aenter__()
        assert (await one.next()).name == "snapshot"
        told = await waiting.next()
        assert (told.name, told.data["type"]) == ("problem", FULL)
    assert (await waiting.named("snapshot")).data["rows"]
    await other.__aexit__(None, None, None)
