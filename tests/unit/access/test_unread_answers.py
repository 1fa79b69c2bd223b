"""Clients that do not read their answers have so much of a worker's memory and no more; who reads goes on reading."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, web
from aiohttp.web_protocol import RequestHandler
from prometheus_client import CollectorRegistry, generate_latest

from app.base.addresses import LOOPBACK
from app.edge.http.entry.connections import CONNECTIONS, TOO_MUCH, TOO_QUIET, CallersConnections, known_connection
from app.edge.http.entry.given import give, given_in_pieces
from app.edge.http.entry.unread import BUFFERED_BYTES, PIECE_BYTES, READING_SECONDS, Write
from app.edge.http.listening import listening
from app.edge.http.problems import problem_middleware

MB = 1 << 20
ANSWER_BYTES = 16 * MB
MOST = 3
"""Answers that there is room for."""
QUIET_SECONDS = 60.0


class Connections(CallersConnections):
    """Counts the pieces that clients took, by their ports."""

    def __init__(self, most_bytes: int, now: Callable[[], float]) -> None:
        super().__init__(100, QUIET_SECONDS, most_bytes, now)
        self.taken: Counter[int] = Counter()

    async def write(self, protocol: RequestHandler, body: bytes, write: Write) -> None:
        async def counted(piece: memoryview) -> None:
            await write(piece)
            self.taken[port] += 1

        assert protocol.peername is not None
        port = protocol.peername[1]
        await super().write(protocol, body, counted)


class Served:
    """A server of large answers, whose clock stands still."""

    def __init__(self, most_bytes: int) -> None:
        self.now, self.shared = 100.0, bytes(ANSWER_BYTES)
        self.connections = Connections(most_bytes, lambda: self.now)
        self.app = web.Application(middlewares=[known_connection, problem_middleware, given_in_pieces])
        self.app[CONNECTIONS] = self.connections
        self.app.router.add_get("/large", self.large)
        self.app.router.add_get("/stream", self.stream)
        self.app.router.add_get("/alike", self.alike)
        self.app.router.add_get("/small", self.small)

    async def large(self, _: web.Request) -> web.Response:
        return web.Response(body=bytes(ANSWER_BYTES))

    async def small(self, _: web.Request) -> web.Response:
        return web.Response(text="here")

    async def stream(self, request: web.Request) -> web.StreamResponse:
        return await self._given(request, bytes(ANSWER_BYTES))

    async def alike(self, request: web.Request) -> web.StreamResponse:
        return await self._given(request, self.shared)

    async def _given(self, request: web.Request, body: bytes) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await give(request, response, body, 3_600)
        return response

    @property
    def unread(self) -> float:
        """In answers, as the metric has it."""
        return self._told("flagfall_http_unread_bytes") / ANSWER_BYTES

    @property
    def buffered(self) -> int:
        """The most bytes that lie in the buffer of one connection."""
        transports = (protocol.transport for protocol in self.connections._open())
        return max((transport.get_write_buffer_size() for transport in transports if transport is not None), default=0)

    def _told(self, name: str) -> float:
        registry = CollectorRegistry()
        registry.register(self.connections)
        lines = generate_latest(registry).decode().splitlines()
        return next(float(line.split()[1]) for line in lines if line.split()[0] == name)


@asynccontextmanager
async def served(most_bytes: int = MOST * ANSWER_BYTES) -> AsyncIterator[tuple[Served, int]]:
    server = Served(most_bytes)
    async with listening(server.app, LOOPBACK, 0) as port:
        yield server, port


class Client:
    """One that has asked, and reads when it is told to."""

    def __init__(self, port: int, path: str, times: int = 1) -> None:
        self.socket = socket.create_connection((LOOPBACK, port))
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * times)

    async def begun(self) -> None:
        """Its answer has come, as far as a look at it shows."""
        assert await asyncio.to_thread(self.socket.recv, 8, socket.MSG_PEEK) == b"HTTP/1.1"

    async def read(self, most: int) -> int:
        """How much of so many bytes came before the connection was closed."""
        return await asyncio.to_thread(self._read, most)

    def _read(self, most: int) -> int:
        count = 0
        try:
            while count < most and (part := self.socket.recv(min(1 << 16, most - count))):
                count += len(part)
        except ConnectionResetError:
            pass
        return count

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


@pytest.mark.parametrize("path", ["/large", "/stream"])
async def test_what_is_not_read_is_bounded_and_others_are_answered(path: str) -> None:
    async with served() as (server, port), ClientSession(f"http://{LOOPBACK}:{port}") as session:
        clients = []
        for nth in range(3 * MOST):
            server.now += READING_SECONDS
            clients.append(Client(port, path))
            await clients[-1].begun()
            assert server.unread == min(nth + 1, MOST)
            assert server.buffered <= 2 * PIECE_BYTES
            assert server.connections.closed[TOO_MUCH] == max(0, nth + 1 - MOST)
        server.now += READING_SECONDS
        async with session.get("/large") as answer:
            assert len(await answer.read()) == ANSWER_BYTES
        for client in clients:
            client.socket.close()


async def test_what_many_are_given_alike_counts_once_and_who_holds_something_alone_is_closed_first() -> None:
    buffered = BUFFERED_BYTES / ANSWER_BYTES
    async with served() as (server, port):
        clients = []
        for nth in range(3 * MOST):
            clients.append(Client(port, "/alike"))
            await clients[-1].begun()
            assert server.unread == 1 + nth * buffered
        server.now += READING_SECONDS
        clients.append(Client(port, "/stream"))
        await clients[-1].begun()
        assert server.unread == 2 + nth * buffered
        server.now += READING_SECONDS
        clients.append(Client(port, "/large"))
        await clients[-1].begun()
        assert server.connections.closed[TOO_MUCH] == 1
        assert server.unread == 2 + nth * buffered
        for client in clients[: 3 * MOST]:
            assert await client.read(ANSWER_BYTES) == ANSWER_BYTES
        while server.unread > 1:
            await asyncio.sleep(0)
        for client in clients:
            client.socket.close()


async def test_requests_behind_an_answer_that_is_not_read_wait_for_it() -> None:
    async with served() as (server, port):
        with Client(port, "/large", times=20) as client:
            await client.begun()
            assert (server.unread, server.buffered <= 2 * PIECE_BYTES) == (1, True)


async def test_one_that_reads_slowly_has_all_of_it() -> None:
    async with served() as (server, port):
        with Client(port, "/large") as slow:
            had, clients, slow_port = 0, [], slow.socket.getsockname()[1]
            await slow.begun()
            for _ in range(3 * MOST):
                server.now += QUIET_SECONDS / 6
                before = server.connections.taken[slow_port]
                while server.connections.taken[slow_port] == before:
                    got = await slow.read(PIECE_BYTES // 2)
                    assert got, "it was closed"
                    had += got
                server.connections.close_quiet()
                clients.append(Client(port, "/large"))
                await clients[-1].begun()
            assert server.connections.closed[TOO_MUCH] >= MOST
            assert had + await slow.read(ANSWER_BYTES - had) == ANSWER_BYTES
            for client in clients:
                client.socket.close()


async def test_where_all_read_the_next_is_told_to_come_back() -> None:
    async with served() as (server, port), ClientSession(f"http://{LOOPBACK}:{port}") as session:
        clients = [Client(port, "/large") for _ in range(MOST)]
        for client in clients:
            await client.begun()
        async with session.get("/large") as answer:
            problem = await answer.json(content_type=None)
        assert (answer.status, problem["type"], problem["reason"]) == (503, "urn:flagfall:problem:busy", TOO_MUCH)
        assert "FLAGFALL_HTTP_MAX_UNREAD_MB" in problem["detail"]
        async with session.get("/small") as answer:
            assert await answer.text() == "here"
        assert server.connections.closed[TOO_MUCH] == 0
        for client in clients:
            assert await client.read(ANSWER_BYTES) == ANSWER_BYTES
            client.socket.close()


async def test_one_answer_that_is_larger_than_all_may_be_is_given() -> None:
    async with served(MB) as (_, port), ClientSession(f"http://{LOOPBACK}:{port}") as session:
        async with session.get("/large") as answer:
            assert len(await answer.read()) == ANSWER_BYTES
        async with session.head("/large") as answer:
            assert int(answer.headers["Content-Length"]) == ANSWER_BYTES


async def test_a_large_answer_whose_client_takes_nothing_is_too_quiet_in_the_end() -> None:
    async with served() as (server, port):
        with Client(port, "/large") as client:
            await client.begun()
            server.now += QUIET_SECONDS
            server.connections.close_quiet()
            assert server.connections.closed[TOO_QUIET] == 1
            assert await client.read(ANSWER_BYTES) < ANSWER_BYTES
