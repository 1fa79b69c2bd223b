"""The connections of callers: so many at most, and none for long that asks for nothing, or takes no answer.

Whoever comes when all are taken has the place of the one that has been quiet for the longest: callers who only hold
connections keep nobody out, health checks least of all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.edge.http.entry.unread import UnreadAnswers, Write, pieces
from app.edge.http.entry.unreadable import READING, CallersProtocol
from app.edge.http.problems import Handler

LOOK_SECONDS = 1.0
TOO_MANY, TOO_QUIET, TOO_MUCH = "too-many", "too-quiet", "too-much-unread"
"""Why a connection was closed."""


class CallersConnections(Collector):
    """Of one worker. Each is in the hands of a handler, or quiet: before its request is whole, between two, or while
    its client takes an answer. It counts from the end of its TLS handshake on."""

    def __init__(
        self, most: int, quiet_seconds: float, most_unread_bytes: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._quiet_seconds, self._now = most, quiet_seconds, now
        self._unread = UnreadAnswers(most_unread_bytes, now)
        self._server: web.Server | None = None
        self._quiet: dict[RequestHandler, float] = {}  # since when, the first one for the longest
        self._answered: set[RequestHandler] = set()
        self.closed = dict.fromkeys((TOO_MANY, TOO_QUIET, TOO_MUCH), 0)

    def of(self, server: web.Server) -> Callable[[], RequestHandler]:
        """What the event loop asks for the protocol of a connection that comes."""
        self._server = server

        def come() -> RequestHandler:
            if len(self) >= self._most:
                self._look()
                if self._quiet:
                    self._close(next(iter(self._quiet)), TOO_MANY)
            return CallersProtocol(server, loop=asyncio.get_running_loop(), **READING)

        return come

    def __len__(self) -> int:
        return sum(1 for _ in self._open())

    def begin(self, protocol: RequestHandler) -> None:
        """A request of its is whole."""
        self._quiet.pop(protocol, None)
        self._answered.add(protocol)

    def end(self, protocol: RequestHandler) -> None:
        """The answer is made."""
        self._answered.discard(protocol)
        if protocol.transport is not None:
            self._quiet[protocol] = self._now()

    async def write(self, protocol: RequestHandler, body: bytes, write: Write) -> None:
        """Give it to its client as that takes it; ConnectionError where it is in the way of others meanwhile."""
        with self._unread.held(protocol, body):
            self.close_unread()
            for piece in pieces(body):
                await write(piece)
                self._took(protocol)
                await asyncio.sleep(0)  # others have their turns, however much of it the system takes at once

    def has_room(self, size_bytes: int) -> bool:
        """For an answer of so many bytes, once who takes nothing is closed."""
        self.close_unread(size_bytes)
        return self._unread.has_room(size_bytes)

    async def watch(self) -> None:
        """Close those that are quiet for too long, or take nothing of too much, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.close_quiet()
            self.close_unread()

    def close_quiet(self) -> None:
        """Close those that are quiet for too long."""
        self._look()
        before = self._now() - self._quiet_seconds
        for protocol in [protocol for protocol, since in self._quiet.items() if since <= before]:
            self._close(protocol, TOO_QUIET)

    def close_unread(self, size_bytes: int = 0) -> None:
        """Close those that take nothing, as far as it takes to have room for so many bytes more."""
        for protocol in self._unread.in_the_way(size_bytes):
            self._close(protocol, TOO_MUCH)

    def collect(self) -> Iterable[Metric]:
        """How many there are, what they have yet to take, and how many were closed and why."""
        yield GaugeMetricFamily("flagfall_http_connections", "Open connections of callers.", len(self))
        unread = "Bytes of answers that clients have yet to take."
        yield GaugeMetricFamily("flagfall_http_unread_bytes", unread, self._unread.size_bytes)
        closed = CounterMetricFamily(
            "flagfall_http_connections_closed",
            "Connections that asked for nothing, or took nothing.",
            labels=["reason"],
        )
        for reason, count in self.closed.items():
            closed.add_metric([reason], count)
        yield closed

    def _open(self) -> Iterator[RequestHandler]:
        made = () if self._server is None else self._server.connections
        return (protocol for protocol in made if protocol.transport is not None)

    def _look(self) -> None:
        """Who has come, and who has left."""
        self._quiet = {protocol: since for protocol, since in self._quiet.items() if protocol.transport is not None}
        now = self._now()
        for protocol in self._open():
            if protocol not in self._answered:
                self._quiet.setdefault(protocol, now)

    def _took(self, protocol: RequestHandler) -> None:
        self._unread.took(protocol)
        if self._quiet.pop(protocol, None) is not None:
            self._quiet[protocol] = self._now()

    def _close(self, protocol: RequestHandler, reason: str) -> None:
        self._quiet.pop(protocol, None)
        self.closed[reason] += 1
        transport = protocol.transport
        protocol.force_close()
        if transport is not None:
            transport.abort()  # what its client does not take would be waited for


CONNECTIONS = web.AppKey("connections", CallersConnections)


@web.middleware
async def known_connection(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Tell the connection from those that ask for nothing."""
    connections = request.app[CONNECTIONS]
    connections.begin(request.protocol)
    try:
        return await handler(request)
    finally:
        connections.end(request.protocol)
