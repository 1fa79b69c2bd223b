"""A worker with keys answers who shows one that is for what is asked, and nobody else."""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.base.access_settings import AccessSettings
from app.base.files.keys import new_key, write_keys
from app.base.scopes import KeyScope
from app.edge.http.entry.access import ACCESS
from app.edge.http.routes.every_route import ROUTES
from app.rides.views import ZONE_DEMAND
from tests.support.http import Client, Serve, server_of, url_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"
KEYS = {scope: new_key(scope.value, [scope]) for scope in KeyScope}
OPEN = {"/livez", "/readyz", "/static/{file}", "/favicon.ico"}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def basic(name: str, secret: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{name}:{secret}'.encode()).decode()}"}


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    write_keys(tmp_path / "keys.json", {key.name: key for key, _ in KEYS.values()})
    return tmp_path / "keys.json"


@pytest.fixture
async def serve(tmp_path: Path, keys_file: Path) -> AsyncIterator[Serve]:
    settings = AccessSettings(keys_file=keys_file, token=KEYS[KeyScope.WORKERS][1], rate_per_second=0)  # type: ignore[arg-type]
    async with server_of(tmp_path, (ZONE_DEMAND,), access=settings) as start:
        yield start


@pytest.fixture
async def client(serve: Serve) -> Client:
    return await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))})]))


async def test_every_address_but_health_and_styles_asks_for_a_key(client: Client) -> None:
    for route in ROUTES:
        path = route.path.format(view="zone_demand", file="page.css", run="r1", topic="windows.trips")
        answer = await client.request(route.method, path)
        assert (answer.status != 401) == (route.path in OPEN), route.path


async def test_who_shows_none_or_a_wrong_one_is_told_how(client: Client) -> None:
    none = await client.get(ROWS)
    told = await none.json()
    assert (none.status, told["type"]) == (401, "urn:flagfall:problem:no-key")
    assert "Bearer" in none.headers["WWW-Authenticate"]
    assert "Basic" in none.headers["WWW-Authenticate"]
    wrong = await client.get(ROWS, headers=bearer("read.wrong"))
    assert (wrong.status, "unknown, or has ended" in (await wrong.json())["detail"]) == (401, True)
    assert (await client.get("/nowhere")).status == 401


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        (KeyScope.READ, ROWS),
        (KeyScope.READ, "/metrics"),
        (KeyScope.EXPORT, "/v1/views/zone_demand/export?partition=0"),
        (KeyScope.WORKERS, "/v1/internal/views/zone_demand/parts?partition=0"),
    ],
)
async def test_a_key_opens_what_it_is_for_and_nothing_else(client: Client, scope: KeyScope, path: str) -> None:
    for shown, (_, token) in KEYS.items():
        answer = await client.get(path, headers=bearer(token))
        assert answer.status == (200 if shown is scope else 403)
        if shown is not scope:
            assert f"is for {shown}; this address takes one for {scope}" in (await answer.json())["detail"]


async def test_records_take_a_key_for_write(client: Client) -> None:
    for shown, (_, token) in KEYS.items():
        answer = await client.post("/v1/rides?service=yellow", json={}, headers=bearer(token))
        why = "not-taken" if shown is KeyScope.WRITE else "not-allowed"
        assert (answer.status, (await answer.json())["type"]) == (403, f"urn:flagfall:problem:{why}")


async def test_browsers_show_a_name_and_a_secret(client: Client) -> None:
    name, _, secret = KEYS[KeyScope.READ][1].partition(".")
    assert (await client.get("/", headers=basic(name, secret))).status == 200
    assert (await client.get("/", headers=basic(name, f"{name}.{secret}"))).status == 200
    assert (await client.get("/", headers=basic(name, "wrong"))).status == 401


@pytest.mark.parametrize(
    "told", ["", "Bearer", "Basic", "Basic ???", "Basic wqA=", "Digest x", "bearer \x80", "Basic " + "A" * 99]
)
async def test_headers_of_any_kind_are_no_key(client: Client, told: str) -> None:
    assert (await client.get(ROWS, headers={"Authorization": told})).status == 401


async def test_workers_show_each_other_their_key_and_not_the_callers(serve: Serve) -> None:
    there = await serve(ready_directory([task_of(1, {ZONE_DEMAND: zone_table((1, 7))})], partitions=2))
    directory = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))})], partitions=2)
    directory.owners = {0: directory.url, 1: url_of(there)}
    here = await serve(directory)
    answer = await here.get(ROWS, headers=bearer(KEYS[KeyScope.READ][1]))
    assert [row["group"]["zone"] for row in (await answer.json())["data"]] == [132, 7]


async def test_keys_come_and_go_while_the_worker_runs(
    client: Client, keys_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert client.app is not None
    look = client.app[ACCESS].look
    added, token = new_key("dashboards", [KeyScope.READ])
    assert (await client.get(ROWS, headers=bearer(token))).status == 401
    write_keys(keys_file, {added.name: added})
    look()
    assert (await client.get(ROWS, headers=bearer(token))).status == 200
    assert (await client.get(ROWS, headers=bearer(KEYS[KeyScope.READ][1]))).status == 401
    keys_file.write_text("{")
    os.utime(keys_file, ns=(1, 1))
    with caplog.at_level(logging.ERROR):
        look()
        assert (await client.get(ROWS, headers=bearer(token))).status == 200
    assert "the keys from before go on to count" in caplog.text
    assert token not in caplog.text


async def test_who_takes_the_file_away_locks_everybody_out_until_it_is_back(
    client: Client, keys_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert client.app is not None
    look, shown, aside = client.app[ACCESS].look, bearer(KEYS[KeyScope.READ][1]), keys_file.with_name("aside")
    keys_file.rename(aside)
    with caplog.at_level(logging.ERROR):
        look()
    assert (await client.get(ROWS, headers=shown)).status == 401
    assert f"{keys_file} is not there" in caplog.text
    aside.rename(keys_file)
    look()
    assert (await client.get(ROWS, headers=shown)).status == 200


async def test_of_who_shows_no_key_the_query_is_not_told(client: Client) -> None:
    token = KEYS[KeyScope.READ][1]
    for shown in ({}, bearer("read.wrong")):
        refused = await client.get(ROWS, params={"token": token}, headers=shown)
        assert (refused.status, (await refused.json())["instance"]) == (401, ROWS)


async def test_what_was_refused_is_counted_by_reason(client: Client) -> None:
    read = bearer(KEYS[KeyScope.READ][1])
    await client.get(ROWS)
    await client.get("/v1/views/zone_demand/export?partition=0", headers=read)
    told = await (await client.get("/metrics", headers=read)).text()
    assert 'flagfall_http_callers_refused_total{reason="no-key"} 1.0' in told
    assert 'flagfall_http_callers_refused_total{reason="not-allowed"} 1.0' in told


async def test_without_a_file_of_keys_whoever_reaches_it_may_ask(tmp_path: Path) -> None:
    async with server_of(tmp_path, (ZONE_DEMAND,)) as start:
        client = await start(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))})]))
        assert (await client.get(ROWS)).status == 200
        assert json.loads(await (await client.get("/v1/internal/tasks?group=rides&partition=0")).text())
