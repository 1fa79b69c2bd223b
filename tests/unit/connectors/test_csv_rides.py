"""The Faust program of docs/connect.md gives a line to a worker until it is taken or refused, whatever is answered."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

PAGE = (Path(__file__).parents[3] / "docs" / "connect.md").read_text("utf-8")
(PROGRAM,) = re.findall(r"^```python\n(# csv_rides\.py\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
KEY = "imports.csv-0-7"
SILENCE = 0
"""In place of a status: the connection is accepted, and nothing is answered."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[str]]:
    """The program's own, which does not wait before it asks again."""
    monkeypatch.setenv("BROKER", "kafka://127.0.0.1:1")
    named: dict[str, Any] = {"__name__": "csv_rides"}
    exec(PROGRAM, named)

    async def at_once(seconds: float) -> None:
        assert seconds > 0

    named["asyncio"] = SimpleNamespace(sleep=at_once)
    found: Callable[..., Awaitable[str]] = named["sent"]
    return found


async def told(sent: Callable[..., Awaitable[str]], *statuses: int) -> tuple[str, list[str]]:
    """What the program says of its ride, and under which keys the worker was asked."""
    answers, keys, ended = list(statuses), list[str](), asyncio.Event()

    async def answered(request: web.Request) -> web.Response:
        keys.append(request.headers["Idempotency-Key"])
        status = answers.pop(0)
        if status == SILENCE:
            await ended.wait()
        return web.Response(status=status or 500, text=f"{len(keys)} times")

    worker = web.Application()
    worker.router.add_post("/v1/rides", answered)
    patience = aiohttp.ClientTimeout(total=0.5 if SILENCE in statuses else 30)
    async with TestServer(worker) as server, aiohttp.ClientSession(server.make_url("/"), timeout=patience) as session:
        said = await sent(session, {"ride_id": "one"}, KEY)
        ended.set()
    return said, keys


@pytest.mark.parametrize("status", [SILENCE, 401, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("last", [200, 422])
def test_a_line_is_sent_again_until_the_worker_has_taken_or_refused_it(
    sent: Callable[..., Awaitable[str]], status: int, last: int, capsys: pytest.CaptureFixture[str]
) -> None:
    said, keys = asyncio.run(told(sent, status, status, last))
    assert (said, keys) == (f"{last} 3 times", [KEY] * 3)
    assert capsys.readouterr().out.count(f"{KEY} is sent again: ") == 2
