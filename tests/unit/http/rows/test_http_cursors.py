"""Cursors that clients hold: a worker goes on with what a worker of its token gave, and takes nothing else for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import binary, integers, sampled_from
from multidict import MultiDict
from pydantic import SecretStr

from app.base.access_settings import AccessSettings
from app.domain.rows import RowKey
from app.edge.http.problems import Problem
from app.edge.http.query.read_query import read_query
from app.edge.http.query.seal import Seal
from app.rides.views import ZONE_DEMAND
from tests.support.http import NOON_US, Client, server_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

TOKEN = SecretStr("workers.s3cret")
SEAL = Seal(TOKEN)
ROWS = f"/v1/views/{ZONE_DEMAND.name}/rows"
DIRECTORY = ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 1), (0, 2), (0, 3))})])


async def told(client: Client, **asked: str) -> Any:
    return await (await client.get(ROWS, params=asked)).json()


async def test_a_cursor_of_rows_goes_on_at_any_worker_of_its_token_and_at_no_other(tmp_path: Path) -> None:
    async with server_of(tmp_path, access=AccessSettings(token=TOKEN)) as serve:
        first = await told(await serve(DIRECTORY), limit="1")
        following = await told(await serve(DIRECTORY), cursor=first["meta"]["next_cursor"])
    assert [row["group"]["zone"] for row in (*first["data"], *following["data"])] == [1, 2, 3]
    async with server_of(tmp_path, access=AccessSettings(token=SecretStr("workers.another"))) as serve:
        refused = await told(await serve(DIRECTORY), cursor=first["meta"]["next_cursor"])
    assert refused["type"] == "urn:flagfall:problem:bad-cursor"
    assert "No worker with this one's token" in refused["detail"]


@pytest.mark.parametrize("sealed", [False, True])
async def test_a_cursor_of_rows_that_somebody_made_up_is_refused(tmp_path: Path, *, sealed: bool) -> None:
    plain = read_query(ZONE_DEMAND, MultiDict(limit="1")).cursor_after(RowKey(NOON_US, (1,)))
    made_up = Seal(SecretStr("")).sealed(plain.encode()) if sealed else plain
    async with server_of(tmp_path, access=AccessSettings(token=TOKEN)) as serve:
        client = await serve(DIRECTORY)
        refused = await told(client, cursor=made_up)
        assert refused["type"] == "urn:flagfall:problem:bad-cursor"
        going_on = await told(client, cursor=SEAL.sealed(plain.encode()))  # the same, given by a worker
    assert [row["group"]["zone"] for row in going_on["data"]] == [2, 3]


@pytest.mark.parametrize("inside", [b"", b"\xff\xfe", b"[]", b"null", b"[1,2,3,4]", b'{"layout":1}'])
async def test_a_sealed_cursor_of_something_else_is_refused(tmp_path: Path, inside: bytes) -> None:
    async with server_of(tmp_path, access=AccessSettings(token=TOKEN)) as serve:
        refused = await told(await serve(DIRECTORY), cursor=SEAL.sealed(inside))
    assert refused["type"] == "urn:flagfall:problem:bad-cursor"


@given(told=binary(max_size=60), at=integers(0), letter=sampled_from("Aa0-"))
def test_what_was_sealed_is_known_again_and_nothing_else(told: bytes, at: int, letter: str) -> None:
    text = SEAL.sealed(told)
    assert SEAL.opened(text) == told
    at %= len(text) - 1  # bits behind the last byte stand for nothing
    changed = [] if text[at] == letter else [text[:at] + letter + text[at + 1 :]]
    for other in (*changed, text[:-2], "", "é"):
        with pytest.raises(Problem, match="No worker with this one's token"):
            SEAL.opened(other)
