"""The worker of `benchmarks.latency`, and beside its own listener a bare one: a handler that gives back the bytes that
were put there, in the same process and on the same loop. It listens at the port that FLAGFALL_TEST_BARE_PORT names."""

from __future__ import annotations

import os

from aiohttp import web

from app.base.addresses import LOOPBACK
from app.edge.worker import HttpEdge
from benchmarks.http.asking import BARE_PORT
from benchmarks.latency.worker_app import app

__all__ = ["app"]

_on_start = HttpEdge.on_start
_held = [b"{}"]


async def _give(_: web.Request) -> web.Response:
    return web.Response(body=_held[0], content_type="application/json")


async def _take(request: web.Request) -> web.Response:
    _held[0] = await request.read()
    return web.Response()


async def _with_bare(edge: HttpEdge) -> None:
    await _on_start(edge)
    bare = web.Application()
    bare.router.add_get("/bare", _give)
    bare.router.add_put("/bare", _take)
    runner = web.AppRunner(bare, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, LOOPBACK, int(os.environ[BARE_PORT])).start()


HttpEdge.on_start = _with_bare  # type: ignore[assignment, method-assign]
