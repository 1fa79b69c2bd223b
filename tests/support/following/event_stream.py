"""Server-sent events as a client reads them, by the rules of the HTML standard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import orjson
from aiohttp import ClientResponse, ClientSession

from tests.support.http import Client

LONGEST_WAIT_SECONDS = 60.0
LONGEST_LINE_BYTES = 1 << 22
"""An event is one line, here with thousands of rows."""


class Event(NamedTuple):
    """One event; a comment has neither name nor id."""

    name: str
    data: Any = None
    id: str | None = None


class EventStream:
    """Events of one answer, one after the other."""

    def __init__(self, response: ClientResponse) -> None:
        self.response = response

    async def next(self) -> Event:
        """The next event, or comment. EOFError at the end."""
        lines: dict[str, str] = {}
        while (line := (await self.response.content.readline(max_line_length=LONGEST_LINE_BYTES)).decode()) != "\n":
            if not line:
                raise EOFError
            name, _, value = line.rstrip("\n").partition(":")
            lines[name] = value.removeprefix(" ")
        if "" in lines:
            return Event("comment", lines[""])
        return Event(lines["event"], orjson.loads(lines["data"]), lines.get("id"))

    async def named(self, name: str) -> Event:
        """The next event of that name; others may come before it."""
        while (event := await self.next()).name != name:
            pass
        return event


@asynccontextmanager
async def events_of(
    client: Client | ClientSession, address: str, last: str | None = None
) -> AsyncIterator[EventStream]:
    """A stream that is open meanwhile. `last`: id of the event that was had last."""
    headers: Mapping[str, str] = {} if last is None else {"Last-Event-ID": last}
    async with client.get(address, headers=headers) as response:
        assert response.status == 200, await response.text()
        yield EventStream(response)
