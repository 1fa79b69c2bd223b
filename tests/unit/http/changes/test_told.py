"""Changes of an answer as server-sent events: what a client makes of them is the answer, wherever it takes them up."""

from __future__ import annotations

from typing import Any

import pytest

from app.edge.http.changes import feed
from app.rides.views import ZONE_DEMAND
from tests.support.following.event_stream import events_of
from tests.support.following.follower import CHANGES, ROWS, THREE, Follower, directory_of, put, rows_of
from tests.support.http import NOON_US, PANE_US, Serve, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

TOP = "last=1h&group_by=zone&top=2&by=rides"


async def test_a_stream_begins_with_the_page_and_its_meta(serve: Serve) -> None:
    client = await serve(directory_of(THREE))
    page = await (await client.get(ROWS)).json()
    async with events_of(client, CHANGES) as stream:
        event = await stream.next()
    assert event.name == "snapshot"
    assert event.id
    assert event.data["rows"] == page["data"]
    assert event.data["meta"] == page["meta"]
    assert stream.response.headers["Content-Type"] == "text/event-stream"
    assert stream.response.headers["Cache-Control"] == "no-store"


async def test_changes_are_rows_that_became_other_came_or_went(serve: Serve) -> None:
    directory = directory_of(THREE)
    client = await serve(directory)
    async with events_of(client, CHANGES) as stream:
        before = (await stream.next()).data["rows"]
        put(directory, zone_table((0, 4), (1, 132)) | zone_table((2, 9), seed=40))
        event = await stream.named("changes")
        after = await rows_of(client)
    assert [row["group"]["zone"] for row in event.data["changed"]] == [9]
    assert event.data["changed"] == [row for row in after if row not in before]
    assert event.data["gone"] == [{"window": before[2]["window"], "group": before[2]["group"]}]


async def test_a_client_that_follows_has_the_answer_of_each_moment(serve: Serve) -> None:
    directory = directory_of(THREE)
    client = await serve(directory)
    async with events_of(client, f"{CHANGES}?group_by=zone&top=2&by=rides&among=all") as stream:
        reader = Follower(stream)
        for seed in range(1, 6):
            put(directory, zone_table(*[(pane, zone * seed % 6) for pane, zone in [(0, 1), (1, 2), (2, 3)]], seed=seed))
            await reader.until(await rows_of(client, "group_by=zone&top=2&by=rides&among=all"))


async def test_without_a_change_the_stream_says_so_and_where_it_stands(serve: Serve) -> None:
    directory = directory_of(THREE)
    client = await serve(directory)
    async with events_of(client, CHANGES) as stream:
        first = await stream.next()
        directory.tasks[0] = task_of(0, {ZONE_DEMAND: THREE}, next_offset=170)
        while (event := await stream.named("same")).data["meta"]["position"] == first.data["meta"]["position"]:
            pass
    assert event.id == first.id
    assert set(event.data["meta"]["position"].values()) == {170}


@pytest.mark.parametrize("parameter", ["cursor=abc", "partial=allow", "format=json", "nothing=1"])
async def test_what_a_stream_cannot_take_is_refused(serve: Serve, parameter: str) -> None:
    client = await serve(directory_of(THREE))
    response = await client.get(f"{CHANGES}?{parameter}")
    told = await response.json()
    assert response.status == 400
    assert told["parameter"] == parameter.split("=", maxsplit=1)[0]


async def test_a_window_that_moves_on_stands_beside_its_rows(serve: Serve) -> None:
    """So that rows of the last hour are not all other ones with every pane."""
    directory = ready_directory([task_of(0, {ZONE_DEMAND: THREE}, watermark_us=NOON_US + 3 * PANE_US)])
    client = await serve(directory)
    async with events_of(client, f"{CHANGES}?{TOP}") as stream:
        first = await stream.next()
        put(directory, THREE, watermark_us=NOON_US + 4 * PANE_US)
        while (event := await stream.named("same")).data["window"] == first.data["window"]:
            pass
    page = (await rows_of(client, TOP))[0]
    assert event.data["window"] == page["window"]
    assert all("window" not in row for row in first.data["rows"])
    assert len(first.data["rows"]) == 2


async def test_equal_questions_are_asked_once(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    really = feed.rows_answer

    async def counted(*given: Any) -> Any:
        asked.append(given)
        return await really(*given)

    monkeypatch.setattr(feed, "rows_answer", counted)
    client = await serve(directory_of(THREE))
    async with events_of(client, CHANGES) as one, events_of(client, f"{CHANGES}?limit=100") as other:
        assert await one.next() == await other.next()
        assert (await one.next()).name == (await other.next()).name == "same"
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("accept", "status"),
    [("text/event-stream", 200), ("text/*;q=0.1", 200), ("*/*", 200), ("application/json", 406)],
)
async def test_who_accepts_no_events_is_told_that_there_is_nothing_else(serve: Serve, accept: str, status: int) -> None:
    client = await serve(directory_of(THREE))
    assert (await client.head(CHANGES, headers={"Accept": accept})).status == status


async def test_a_head_tells_the_type_and_ends(serve: Serve) -> None:
    client = await serve(directory_of(THREE))
    response = await client.head(CHANGES)
    assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
