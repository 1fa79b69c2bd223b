"""A worker that loopback alone guards answers to loopback's names, and to no page whose name leads there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from app.base.access_settings import AccessSettings
from app.base.files.keys import new_key, write_keys
from app.base.scopes import KeyScope
from app.edge.http.entry.hosts import is_own
from app.rides.views import ZONE_DEMAND
from tests.support.http import one_task, server_of

EVIL = {"Host": "evil.example", "Origin": "http://evil.example"}
KEY, TOKEN = new_key("all", list(KeyScope))


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:18081", "127.8.8.8", "[::1]", "[::1]:1", "worker-1", "Worker-1:9"]
)
def test_loopback_and_the_host_that_others_are_told_are_its_own(host: str) -> None:
    assert is_own(host, "https://worker-1:18081")


@pytest.mark.parametrize(
    "host",
    ["", ":80", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0", "[::", "Ω"],
)
@pytest.mark.parametrize("own_url", ["http://127.0.0.1:18081", "https://worker-1", ""])
def test_nothing_else_is(host: str, own_url: str) -> None:
    assert not is_own(host, own_url)


async def test_a_page_whose_name_leads_to_loopback_reads_nothing(tmp_path: Path) -> None:
    async with server_of(tmp_path) as start:
        client = await start(one_task())
        refused = await client.post("/v1/sql", json={"sql": "SELECT 1"}, headers=EVIL)
        problem = await refused.json(content_type="application/problem+json")
        assert (refused.status, problem["type"]) == (421, "urn:flagfall:problem:other-host")
        assert "'evil.example'" in problem["detail"]
        assert "FLAGFALL_WORKER_ADVERTISED_URL" in problem["detail"]
        for path in ("/", "/readyz", "/metrics", "/static/page.css", "/nowhere", "/v1/internal/tasks?group=rides"):
            assert (await client.get(path, headers=EVIL)).status == 421, path
        for own in ("localhost:18081", "127.0.0.1", "[::1]:80"):
            assert (await client.get("/readyz", headers={"Host": own})).status == 200
        told = await (await client.get("/metrics")).text()
    assert 'flagfall_http_callers_refused_total{reason="other-host"} 7.0' in told


@pytest.mark.parametrize("is_open", [True, False])
async def test_where_keys_or_others_keep_strangers_out_any_host_may_be_asked_for(
    tmp_path: Path, *, is_open: bool
) -> None:
    write_keys(tmp_path / "keys.json", {KEY.name: KEY})
    keys = AccessSettings(keys_file=tmp_path / "keys.json", token=SecretStr(TOKEN))
    access = AccessSettings(open_to_all=True) if is_open else keys
    async with server_of(tmp_path, (ZONE_DEMAND,), access=access) as start:
        client = await start(one_task())
        shown = {"Host": "proxy.example", "Authorization": f"Bearer {TOKEN}"}
        assert (await client.get("/v1/views", headers=shown)).status == 200
