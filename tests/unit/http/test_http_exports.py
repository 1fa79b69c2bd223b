"""A worker gives so many exports at once, and none to a client that does not read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError, web

from app.base.setting_groups import HttpSettings
from app.codecs.stored.export import read_export
from app.edge.http.entry.admission import ADMISSION
from app.edge.http.route import EXPORTS
from app.engine.drive.ownership.directory import Directory
from app.rides.views import ZONE_DEMAND
from tests.support.http import Client, server_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

EXPORT = "/v1/views/zone_demand/export?partition=0"


def one_task() -> Directory:
    return ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132), (1, None))})])


class Reader:
    """A network that takes nothing until it may."""

    def __init__(self) -> None:
        self.may_read = asyncio.Event()
        self._write = web.StreamResponse.write

    async def write(self, response: web.StreamResponse, piece: Any) -> None:
        await self.may_read.wait()
        await self._write(response, piece)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    reader = Reader()

    async def write(response: web.StreamResponse, piece: Any) -> None:
        await reader.write(response, piece)

    monkeypatch.setattr(web.StreamResponse, "write", write)
    return reader


async def none_is_given(client: Client) -> None:
    """Until the last export has left its gate, which may be after its client has seen the end."""
    assert client.app is not None
    async with asyncio.timeout(60):
        while client.app[ADMISSION].gates[EXPORTS].inside:
            await asyncio.sleep(0)


async def test_more_exports_than_a_worker_gives_at_once_are_told_to_come_back(tmp_path: Path, reader: Reader) -> None:
    async with server_of(tmp_path, limits=HttpSettings(max_exports=2)) as start:
        client = await start(one_task())
        given = [await client.get(EXPORT) for _ in range(2)]
        refused = await client.get(EXPORT)
        problem = await refused.json(content_type="application/problem+json")
        assert (refused.status, problem["type"]) == (429, "urn:flagfall:problem:too-many-exports")
        assert (int(refused.headers["Retry-After"]) > 0, problem["retryable"]) == (True, True)
        assert "FLAGFALL_HTTP_MAX_EXPORTS" in problem["detail"]
        assert (await client.get("/v1/views/zone_demand/rows")).status == 200
        reader.may_read.set()
        for answer in given:
            assert read_export(await answer.read())[0].row_count == 2
        await none_is_given(client)
        assert (await client.get(EXPORT)).status == 200


async def test_an_export_that_its_client_does_not_read_is_cut_and_makes_room(
    tmp_path: Path, reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    async with server_of(tmp_path, limits=HttpSettings(max_exports=1, export_idle_seconds=0.01)) as start:
        client = await start(one_task())
        answer = await client.get(EXPORT)
        with pytest.raises(ClientError):
            await answer.read()
        assert "did not go on reading" in caplog.text
        await none_is_given(client)
        reader.may_read.set()
        again = await client.get(EXPORT)
        assert read_export(await again.read())[0].row_count == 2
