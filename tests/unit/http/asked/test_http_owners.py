"""Why another worker cannot be reached, as users are told: in words of the network, never a class of the client's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from aiohttp import ClientConnectorDNSError, ClientError, ClientPayloadError, ClientSession, ClientTimeout
from aiohttp.client_reqrep import ConnectionKey

from app.edge.http.owners import unreached

Answers = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def ends_at_once(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def ends_unanswered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.close()


async def breaks_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1")
    writer.close()


async def asked_of(url: str) -> str:
    async with ClientSession(timeout=ClientTimeout(total=60)) as session:
        with pytest.raises((ClientError, OSError, TimeoutError)) as refused:
            async with session.get(url) as answer:
                await answer.read()
    return unreached(refused.value)


async def test_where_nobody_listens_the_connection_is_refused(unused_tcp_port: int) -> None:
    assert await asked_of(f"http://127.0.0.1:{unused_tcp_port}") == "cannot be reached: connection refused"


def test_a_name_that_nobody_knows_is_told() -> None:
    unknown = ClientConnectorDNSError(cast(ConnectionKey, None), OSError(-2, "Name or service not known"))
    assert unreached(unknown) == "cannot be reached: nobody knows the name of its machine"


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (ends_unanswered, "cannot be reached: it ended the connection"),
        (breaks_off, "cannot be reached: its answer broke off"),
    ],
)
async def test_a_worker_that_ends_meanwhile_is_told(answers: Answers, why: str) -> None:
    async with await asyncio.start_server(answers, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await asked_of(f"http://127.0.0.1:{port}") == why


async def test_one_that_is_no_worker_of_tls_is_told() -> None:
    async with await asyncio.start_server(ends_at_once, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        told = await asked_of(f"https://127.0.0.1:{port}")
    assert told.startswith("cannot be reached: ")
    assert "Error" not in told


def test_what_is_not_foreseen_is_told_without_a_class() -> None:
    for error in (ClientError(), OSError(), TimeoutError()):
        assert unreached(error) in ("cannot be reached: the connection failed", "did not answer in time")
    assert unreached(ClientPayloadError("cut")) == "cannot be reached: its answer broke off"
