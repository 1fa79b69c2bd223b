"""Who only holds a connection keeps nobody out, and has it for a while alone."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, web
from prometheus_client import CollectorRegistry, generate_latest

from app.base.addresses import LOOPBACK
from app.edge.http.entry import connections
from app.edge.http.entry.connections import CONNECTIONS, TOO_MANY, TOO_QUIET, CallersConnections, known_connection
from app.edge.http.listening import listening

QUIET_SECONDS, UNREAD_BYTES = 60.0, 256_000_000
LARGE = bytes(1 << 26)
ASKED = b"GET /small HTTP/1.1\r\nHost: x\r\n\r\n"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Served:
    """A server with room for so many connections, whose clock stands still."""

    def __init__(self, most: int) -> None:
        self.clock, self.begun, self.may_end = Clock(), asyncio.Event(), asyncio.Event()
        self.connections = CallersConnections(most, QUIET_SECONDS, UNREAD_BYTES, self.clock)
        self.app = web.Application(middlewares=[known_connection])
        self.app[CONNECTIONS] = self.connections
        self.app.router.add_get("/small", self.small)
        self.app.router.add_get("/large", self.large)
        self.app.router.add_get("/long", self.long)

    async def small(self, _: web.Request) -> web.Response:
        return web.Response(text="here")

    async def large(self, _: web.Request) -> web.Response:
        return web.Response(body=LARGE)

    async def long(self, _: web.Request) -> web.Response:
        self.begun.set()
        await self.may_end.wait()
        return web.Response(text="done")

    def wait(self, seconds: float) -> None:
        self.clock.now += seconds
        self.connections.close_quiet()


@asynccontextmanager
async def served(most: int = 100) -> AsyncIterator[tuple[Served, int]]:
    server = Served(most)
    async with listening(server.app, LOOPBACK, 0) as port:
        yield server, port


async def until(server: Served, count: int) -> None:
    async with asyncio.timeout(30):
        while len(server.connections) != count:
            await asyncio.sleep(0)
    server.wait(0)


async def is_closed(reader: asyncio.StreamReader) -> bool:
    async with asyncio.timeout(30):
        try:
            return await reader.read() == b""
        except ConnectionResetError:
            return True


@pytest.mark.parametrize("sent", [b"", b"GET /small HTTP/1.1\r\nX-Slow", ASKED])
async def test_one_that_asks_for_nothing_is_closed(sent: bytes) -> None:
    async with served() as (server, port):
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(sent)
        if sent == ASKED:
            assert b"here" in await reader.readuntil(b"here")
        await until(server, 1)
        server.wait(QUIET_SECONDS - 1)
        assert server.connections.closed[TOO_QUIET] == 0
        server.wait(1)
        assert await is_closed(reader)
        assert (server.connections.closed[TOO_QUIET], len(server.connections)) == (1, 0)
        writer.close()


async def test_one_whose_client_takes_no_answer_is_closed() -> None:
    async with served() as (server, port):
        with socket.create_connection((LOOPBACK, port)) as client:
            client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await asyncio.to_thread(client.recv, 8) == b"HTTP/1.1"
            server.wait(QUIET_SECONDS)
            assert server.connections.closed[TOO_QUIET] == 1
            left = await asyncio.to_thread(drained, client)
        assert left < len(LARGE)


def drained(client: socket.socket) -> int:
    count = 0
    try:
        while part := client.recv(1 << 20):
            count += len(part)
    except ConnectionResetError:
        pass
    return count


async def test_one_that_waits_for_its_answer_is_left_alone() -> None:
    async with served() as (server, port), ClientSession(f"http://{LOOPBACK}:{port}") as session:
        asking = asyncio.create_task(session.get("/long"))
        await server.begun.wait()
        server.wait(10 * QUIET_SECONDS)
        server.may_end.set()
        async with await asking as answer:
            assert await answer.text() == "done"
        assert server.connections.closed[TOO_QUIET] == 0


async def test_where_all_are_taken_the_quietest_makes_room() -> None:
    async with served(most=3) as (server, port):
        held = []
        for nth in range(3):
            held.append(await asyncio.open_connection(LOOPBACK, port))
            await until(server, nth + 1)
        held[0][1].write(ASKED)
        await held[0][0].readuntil(b"here")  # so the second is quiet for the longest
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(ASKED)
        assert b"200 OK" in await reader.readuntil(b"here")
        assert await is_closed(held[1][0])
        assert (server.connections.closed[TOO_MANY], len(server.connections)) == (1, 3)
        for _, other in [*held, (reader, writer)]:
            other.close()


async def test_who_left_takes_no_room() -> None:
    async with served(most=2) as (server, port):
        for nth in range(10):
            _, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.write(ASKED)
            writer.close()
            await writer.wait_closed()
            server.wait(2 * connections.LOOK_SECONDS)
            assert len(server.connections) <= 1, nth
        assert server.connections.closed[TOO_MANY] == 0


async def test_what_was_closed_is_counted_by_reason() -> None:
    registry = CollectorRegistry()
    async with served() as (server, port):
        registry.register(server.connections)
        _, writer = await asyncio.open_connection(LOOPBACK, port)
        await until(server, 1)
        assert b"flagfall_http_connections 1.0" in generate_latest(registry)
        server.wait(QUIET_SECONDS)
        assert b'flagfall_http_connections_closed_total{reason="too-quiet"} 1.0' in generate_latest(registry)
        writer.close()
