"""A worker whose own key the others do not take says so: when it starts, and where it asked one."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from pydantic import SecretStr

from app.base.access_settings import AccessSettings
from app.base.files.keys import new_key, write_keys
from app.base.scopes import KeyScope
from app.edge.http.entry.access import Access
from app.rides.views import ZONE_DEMAND
from tests.support.http import Serve, server_of, url_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

READ, READ_TOKEN = new_key("reader", [KeyScope.READ, KeyScope.WRITE])
SHOWN = {"Authorization": f"Bearer {READ_TOKEN}"}
WORKERS, WORKERS_TOKEN = new_key("workers", [KeyScope.WORKERS])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_keys(tmp_path / "keys.json", {key.name: key for key in (READ, WORKERS)})
    return tmp_path / "keys.json"


@pytest.mark.parametrize(
    ("token", "told"),
    [
        ("", "FLAGFALL_ACCESS_TOKEN is not set"),
        ("workers.wrong", "FLAGFALL_ACCESS_TOKEN is no key for workers of"),
        (READ_TOKEN, "FLAGFALL_ACCESS_TOKEN is no key for workers of"),
        (WORKERS_TOKEN, ""),
    ],
    ids=["none", "unknown", "for other things", "for workers"],
)
def test_one_that_others_will_not_answer_says_so_at_its_start(
    file: Path, token: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        Access(AccessSettings(keys_file=file, token=SecretStr(token)), (), str)
    assert told in caplog.text
    assert bool(told) == bool(caplog.records)
    assert not token or token not in caplog.text


@pytest.fixture
async def serve(tmp_path: Path, file: Path) -> AsyncIterator[Serve]:
    """Workers that show each other nothing."""
    access = AccessSettings(keys_file=file)
    async with server_of(
        tmp_path, (ZONE_DEMAND,), access=access, intakes=lambda: Mock(topics=["rides.yellow"])
    ) as start:
        yield start


async def test_what_an_owner_does_not_answer_names_the_token(serve: Serve) -> None:
    there = await serve(ready_directory([task_of(1, {ZONE_DEMAND: zone_table((1, 7))})], partitions=2))
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))})], partitions=2)
    directory.owners = {0: directory.url, 1: url_of(there)}
    client = await serve(directory)
    answer = await client.get("/v1/views/zone_demand/rows", headers=SHOWN)
    why = (await answer.json())["missing"][0]["why"]
    assert (answer.status, "it answered 401" in why, "FLAGFALL_ACCESS_TOKEN" in why) == (503, True, True), why


async def test_so_do_records_that_it_does_not_take(serve: Serve) -> None:
    """The key of who sent them counts: 401 would tell them otherwise."""
    there = await serve(ready_directory([task_of(0, {ZONE_DEMAND: {}})]))
    directory = ready_directory([])
    directory.partitions, directory.owners = 1, {0: url_of(there)}
    client = await serve(directory)
    answer = await client.post("/v1/rides?service=yellow", json=[{}], headers=SHOWN)
    problem = await answer.json(content_type="application/problem+json")
    assert (answer.status, problem["type"]) == (503, "urn:flagfall:problem:not-ready")
    assert "Nothing was written" in problem["detail"]
    assert "FLAGFALL_ACCESS_TOKEN" in problem["detail"]
