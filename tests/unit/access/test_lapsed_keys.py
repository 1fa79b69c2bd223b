"""What is answered to a key ends soon after it: streams in words, what had begun by a cut, the rest by 401."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession, web

from app.base.access_settings import AccessSettings
from app.base.files.keys import Key, new_key, write_keys
from app.base.scopes import KeyScope
from app.base.setting_groups import HttpSettings
from app.edge.http.entry import access
from app.edge.http.positions.standing import POSITIONS
from app.rides.views import ZONE_DEMAND
from tests.support.following.event_stream import EventStream, events_of
from tests.support.following.follower import CHANGES, ROWS, directory_of
from tests.support.http import Client, server_of, url_of, zone_table

KEY, TOKEN = new_key("tmp", [KeyScope.READ, KeyScope.EXPORT])
OTHER, OTHER_TOKEN = new_key("stays", [KeyScope.READ])
EXPORT = "/v1/views/zone_demand/export?partition=0"


class Worker:
    """Its client, and the file of its keys."""

    def __init__(self, client: Client, file: Path) -> None:
        self.client, self._file = client, file

    def keep(self, *keys: Key) -> None:
        write_keys(self._file, {key.name: key for key in (*keys, OTHER)})

    def session(self, token: str = TOKEN) -> ClientSession:
        return ClientSession(url_of(self.client), headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
async def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Worker]:
    monkeypatch.setattr(access, "LOOK_SECONDS", 0.01)
    file = tmp_path / "keys.json"
    write_keys(file, {key.name: key for key in (KEY, OTHER)})
    settings, limits = AccessSettings(keys_file=file), HttpSettings(heartbeat_seconds=0.05)
    async with server_of(tmp_path, (ZONE_DEMAND,), limits, access=settings) as start:
        yield Worker(await start(directory_of(zone_table((0, 132)))), file)


async def why_it_ends(stream: EventStream) -> tuple[int, str]:
    problem = await stream.named("problem")
    with pytest.raises(EOFError):
        await stream.next()
    return problem.data["status"], problem.data["detail"]


async def test_a_stream_ends_in_words_when_its_key_is_removed_and_others_go_on(worker: Worker) -> None:
    async with worker.session() as session, worker.session(OTHER_TOKEN) as staying:
        async with events_of(session, CHANGES) as stream, events_of(staying, CHANGES) as other:
            await stream.next()
            worker.keep()
            assert await why_it_ends(stream) == (401, "The key tmp was removed or has ended while it was answered.")
            assert (await other.named("same")).name == "same"
        assert (await session.get(ROWS)).status == 401


@pytest.mark.parametrize(
    ("instead", "status", "told"),
    [
        (KEY.model_copy(update={"until": datetime.now(UTC) - timedelta(days=1)}), 401, "has ended"),
        (new_key("tmp", [KeyScope.READ])[0], 401, "was removed"),
        (KEY.model_copy(update={"scopes": frozenset([KeyScope.EXPORT])}), 403, "is for export; this address takes"),
    ],
    ids=["has ended", "has another secret", "is for other things"],
)
async def test_so_does_one_whose_key_opens_it_no_more(worker: Worker, instead: Key, status: int, told: str) -> None:
    async with worker.session() as session, events_of(session, CHANGES) as stream:
        await stream.next()
        worker.keep(instead)
        ended = await why_it_ends(stream)
        assert (ended[0], told in ended[1]) == (status, True), ended


async def test_a_key_ends_at_its_time_though_nobody_touches_the_file(worker: Worker) -> None:
    worker.keep(KEY.model_copy(update={"until": datetime.now(UTC) + timedelta(seconds=1)}))
    async with worker.session() as session, events_of(session, CHANGES) as stream:
        assert (await why_it_ends(stream))[0] == 401


async def test_an_export_is_cut(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(web.StreamResponse, "write", hang)
    async with worker.session() as session, session.get(EXPORT) as answer:
        worker.keep()
        with pytest.raises(ClientError):
            await answer.read()


async def test_who_waits_for_a_position_waits_no_more(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asyncio.Event()

    def hang(*_: object) -> asyncio.Future[None]:
        asked.set()
        return asyncio.get_running_loop().create_future()

    assert worker.client.app is not None
    monkeypatch.setattr(worker.client.app[POSITIONS], "look", hang)
    async with worker.session() as session:
        answer = asyncio.create_task(session.get(ROWS, params={"min_position": "rides.yellow-0:999999"}))
        await asked.wait()
        worker.keep()
        refused = await answer
        assert (refused.status, (await refused.json())["type"]) == (401, "urn:flagfall:problem:no-key")
