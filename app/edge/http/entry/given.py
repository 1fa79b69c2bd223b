"""Answers, given as their clients take them; none where those who read have all that there may be."""

from __future__ import annotations

import asyncio
from functools import partial

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload
from aiohttp.web_protocol import RequestHandler

from app.base.setting_groups import variable
from app.edge.http.entry.connections import CONNECTIONS, TOO_MUCH, CallersConnections
from app.edge.http.entry.unread import PIECE_BYTES
from app.edge.http.problems import Handler, Problem

FULL = (
    "Those who read their answers have yet to take all that the worker holds for them "
    f"({variable('http_max_unread_mb')}). Ask again, or another worker."
)


class InPieces(Payload):
    """A body that aiohttp does not write at once."""

    _value: bytes

    def __init__(self, body: bytes, connections: CallersConnections, protocol: RequestHandler) -> None:
        super().__init__(body)
        self._size, self._connections, self._protocol = len(body), connections, protocol

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """As text."""
        return self._value.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Piece by piece."""
        await self._connections.write(self._protocol, self._value, writer.write)


async def give(request: web.Request, response: web.StreamResponse, some: bytes, idle: float | None = None) -> None:
    """A part of an answer that has begun; TimeoutError where its client takes nothing for `idle` seconds."""
    await request.app[CONNECTIONS].write(request.protocol, some, partial(_within, idle, response))


async def _within(seconds: float | None, response: web.StreamResponse, piece: memoryview) -> None:
    async with asyncio.timeout(seconds):
        await response.write(piece)


@web.middleware
async def given_in_pieces(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What was answered, if it is large; `busy` where there is no room for it."""
    response = await handler(request)
    if isinstance(response, web.Response) and request.method != hdrs.METH_HEAD:
        body, connections = response.body, request.app[CONNECTIONS]
        if isinstance(body, bytes) and len(body) > PIECE_BYTES:
            if not connections.has_room(len(body)):
                raise Problem("busy", FULL, reason=TOO_MUCH)
            response.body = InPieces(body, connections, request.protocol)
    return response
