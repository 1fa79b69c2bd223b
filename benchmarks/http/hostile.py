"""Callers that nobody wants: they only hold connections, ask slowly, take no answer, ask for too much, or nonsense.

Each is a load of a phase: what it did is told, so that one that did nothing shows.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from contextlib import suppress
from typing import Any

from aiohttp import ClientError, ClientSession
from yarl import URL

from app.base.addresses import LOOPBACK
from benchmarks.http.asking import Load
from benchmarks.http.followers import MOVING

IDLE, SLOW, DEAF, GREEDY = 2_000, 200, 200, 8
SLOW_SECONDS, MALFORMED_SECONDS = 0.5, 0.005
HUGE = (
    "/v1/views/zone_demand/rows?window=1d&limit=10000&top=100&by=rides",
    "/v1/views/zone_demand/rows?window=366d&limit=10000",
    "/v1/views/zone_demand/rows?limit=10000",
    "/v1/views/zone_demand/export?partition=0",
)
STATEMENT = {"sql": "SELECT count(*) FROM zone_demand a, zone_demand b WHERE a.rides > b.rides"}
NONSENSE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /v1/views/zone_demand/rows?limit=-1&zone=%ff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /v1/sql HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{",
    b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 60_000 + b"\r\n\r\n",
    b"TRACE * HTTP/9.9\r\n\x00\r\n\r\n",
)


def idle(port: int) -> Load:
    """Connections that ask for nothing."""

    async def load(seconds: float) -> dict[str, Any]:
        held = await _connections(port, IDLE)
        await asyncio.sleep(seconds)
        return {"connections": _closed(held)}

    return load


def slow(port: int) -> Load:
    """Requests that never come to their end, a byte at a time."""

    async def load(seconds: float) -> dict[str, Any]:
        held = await _connections(port, SLOW)
        loop, head = asyncio.get_running_loop(), b"GET / HTTP/1.1\r\nX-Slow: " + b"a" * 10_000
        until, sent = loop.time() + seconds, 0
        while loop.time() < until:
            for one in held:
                with suppress(OSError):
                    sent += one.send(head[sent // SLOW % len(head) :][:1])
            await asyncio.sleep(SLOW_SECONDS)
        return {"connections": _closed(held), "bytes": sent}

    return load


def deaf(port: int) -> Load:
    """Streams of changes, and pages, that nobody reads."""

    async def load(seconds: float) -> dict[str, Any]:
        held = await _connections(port, DEAF)
        page = HUGE[2]
        for nth, one in enumerate(held):
            with suppress(OSError):
                one.send(f"GET {page if nth % 4 == 0 else MOVING} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await asyncio.sleep(seconds)
        return {"connections": _closed(held)}

    return load


def greedy(session: ClientSession) -> Load:
    """Questions about everything, and a statement that has no end."""

    async def load(seconds: float) -> dict[str, Any]:
        loop, answers = asyncio.get_running_loop(), Counter[int]()
        until = loop.time() + seconds

        async def caller(nth: int) -> None:
            while loop.time() < until:
                state = HUGE[nth % len(HUGE)]
                asking = session.post("/v1/sql", json=STATEMENT) if nth == 0 else session.get(URL(state, encoded=True))
                async with asking as answer:
                    await answer.read()
                    answers[answer.status] += 1
                if answer.status != 200:
                    await asyncio.sleep(0.05)

        await asyncio.gather(*(caller(nth) for nth in range(GREEDY)))
        return {"answers": {str(status): times for status, times in sorted(answers.items())}}

    return load


def nonsense(port: int, session: ClientSession) -> Load:
    """What is no HTTP, or no question, two hundred times a second."""

    async def load(seconds: float) -> dict[str, Any]:
        loop, sent = asyncio.get_running_loop(), 0
        until = loop.time() + seconds
        while loop.time() < until:
            _, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.write(NONSENSE[sent % len(NONSENSE)])
            with suppress(OSError):
                await writer.drain()
            writer.close()
            sent += 1
            await asyncio.sleep(MALFORMED_SECONDS)
        with suppress(ClientError):
            async with session.get("/livez") as answer:
                return {"sent": sent, "livez": answer.status}
        return {"sent": sent, "livez": None}

    return load


async def _connections(port: int, count: int) -> list[socket.socket]:
    """So many, which take as little as the system lets them."""
    loop, held = asyncio.get_running_loop(), list[socket.socket]()
    for _ in range(count):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setblocking(False)
        await loop.sock_connect(one, (LOOPBACK, port))
        held.append(one)
    return held


def _closed(held: list[socket.socket]) -> int:
    """How many there were; closed now."""
    for one in held:
        one.close()
    return len(held)
