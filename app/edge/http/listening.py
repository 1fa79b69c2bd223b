"""Where an application answers, and how it stops."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiohttp import web
from aiohttp.log import server_logger

from app.edge.http.entry.connections import CONNECTIONS
from app.edge.http.entry.unread import PIECE_BYTES
from app.edge.http.entry.unreadable import BRIEF_OF_CALLERS, READING

SHUTDOWN_SECONDS = 2.0
"""Slow clients do not hold a worker that stops."""
BACKLOG = 128
HANDSHAKE_SECONDS = 5.0
"""Who does not end a TLS handshake within it is cut off."""


@asynccontextmanager
async def listening(
    app: web.Application, host: str, port: int, tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Answers at the port that is given, any free one for 0, and leaves signals to others. OSError where nobody can
    listen there."""
    server_logger.addFilter(BRIEF_OF_CALLERS)
    runner = web.AppRunner(
        app,
        handle_signals=False,
        handler_cancellation=True,  # all that is asked is read: what nobody waits for any more is not gone on with
        shutdown_timeout=SHUTDOWN_SECONDS,
        **READING,
    )
    await runner.setup()
    try:
        async with _accepting(runner, host, port, tls) as bound:
            yield bound
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _accepting(runner: web.AppRunner, host: str, port: int, tls: ssl.SSLContext | None) -> AsyncIterator[int]:
    """Connections come in, as many as may."""
    connections, made = runner.app[CONNECTIONS], runner.server
    assert made is not None
    handshake_seconds = HANDSHAKE_SECONDS if tls else None
    server = await asyncio.get_running_loop().create_server(
        connections.of(made), host, port, ssl=tls, ssl_handshake_timeout=handshake_seconds, backlog=BACKLOG
    )
    for listener in server.sockets:
        listener.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, PIECE_BYTES
        )  # whoever comes has it from there
    watch = asyncio.create_task(connections.watch())
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch


def may_open_files() -> None:
    """Let this process hold as many files and connections as the system allows it: callers do not take those that
    Kafka's need."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # as where all are allowed, and the kernel takes no such number
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
