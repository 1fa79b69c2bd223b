"""How many requests are answered at once: some, a few more in line, and all others are told to come back.

What workers ask of each other has a gate of its own: two workers full of callers' requests would otherwise wait for
each other. Health, metrics and what is known without tables pass none.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.base.setting_groups import HttpSettings, variable
from app.edge.http.problems import Handler, Problem
from app.edge.http.route import (
    CALLERS,
    EXPORTS,
    INTAKES,
    SEARCHES,
    SENT_ON,
    STATEMENTS,
    STREAMS,
    WAITS,
    WORKERS,
    Route,
)

QUEUE_FULL, WAITED_TOO_LONG, TOO_SLOW = "queue-full", "waited-too-long", "too-slow"
"""Why a request was not answered."""


class Gate:
    """Lets `most` requests in at once, each for `answer_seconds`.

    Up to `most_waiting` others stand in line for `wait_seconds`, first come, first served. Those inside
    begin by `turn`.
    """

    slug, bounded_by = "busy", variable("http_max_requests")

    def __init__(self, most: int, most_waiting: int, wait_seconds: float, answer_seconds: float | None) -> None:
        self._free = asyncio.Semaphore(most)
        self._most_waiting, self._wait_seconds, self._answer_seconds = most_waiting, wait_seconds, answer_seconds
        self.turn = asyncio.Lock()
        self.inside = self.waiting = 0
        self.refused: Counter[str] = Counter()

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[None]:
        """Inside, once there is room; the `busy` problem where the line is full, or did not move in time."""
        if self._free.locked():
            await self._wait()
        else:
            await self._free.acquire()
        self.inside += 1
        try:
            async with asyncio.timeout(self._answer_seconds) as deadline:
                yield
        except TimeoutError:
            if not deadline.expired():
                raise
            self.refused[TOO_SLOW] += 1
            detail = f"It was not done within {self._answer_seconds:g} s ({variable('http_max_seconds')}). "
            raise Problem("too-slow", f"{detail}Ask again, or for less.") from None
        finally:
            self.inside -= 1
            self._free.release()

    async def _wait(self) -> None:
        if self.waiting >= self._most_waiting:
            raise self._busy(QUEUE_FULL, f"{self.inside} requests are being answered and {self.waiting} wait")
        self.waiting += 1
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._free.acquire()
        except TimeoutError:
            raise self._busy(WAITED_TOO_LONG, f"no other was done within {self._wait_seconds:g} s") from None
        finally:
            self.waiting -= 1

    def _busy(self, reason: str, why: str) -> Problem:
        self.refused[reason] += 1
        detail = (
            f"The worker has as many requests as it takes ({why}; {self.bounded_by}). Ask again, or another worker."
        )
        return Problem(self.slug, detail, reason=reason)


class ExportGate(Gate):
    """Exports have no line, as each takes seconds, and no time, as their clients' networks decide it."""

    slug, bounded_by = "too-many-exports", variable("http_max_exports")

    def __init__(self, most: int) -> None:
        super().__init__(most, 0, 0, None)


class StreamGate(Gate):
    """Streams stay open, so none waits for another to end."""

    slug, bounded_by = "too-many-streams", variable("http_max_streams")

    def __init__(self, most: int) -> None:
        super().__init__(most, 0, 0, None)


class WaitGate(Gate):
    """What waits does nothing, so none waits for another; those who ask bound their time."""

    bounded_by = variable("http_max_waits")

    def __init__(self, most: int) -> None:
        super().__init__(most, 0, 0, None)


class IntakeGate(Gate):
    """What is brought has no line, as it would wait in memory, and no time: nobody could tell what was written."""

    slug, bounded_by = "too-many-records", variable("http_max_intakes")

    def __init__(self, most: int) -> None:
        super().__init__(most, 0, 0, None)


class SearchGate(Gate):
    """Searches read and decode for seconds, one after the other."""

    bounded_by = "one search for records at a time"


class StatementGate(Gate):
    """Statements have bounds of their own on their time."""

    bounded_by = variable("http_max_statements")


class Admission(Collector):
    """The gates of one worker by name, and what they have seen."""

    def __init__(self, limits: HttpSettings, routes: Iterable[Route]) -> None:
        bounds = limits.max_requests, limits.max_waiting_requests, limits.max_wait_seconds, limits.max_seconds
        self.gates = {
            CALLERS: Gate(*bounds),
            WORKERS: Gate(*bounds),
            EXPORTS: ExportGate(limits.max_exports),
            STREAMS: StreamGate(limits.max_streams),
            STATEMENTS: StatementGate(limits.max_statements, *bounds[1:3], None),
            SEARCHES: SearchGate(1, *bounds[1:]),
            WAITS: WaitGate(limits.max_waits),
            INTAKES: IntakeGate(limits.max_intakes),
            SENT_ON: IntakeGate(limits.max_intakes),
        }
        self._routes = {route.name: route for route in routes if route.gate is not None}

    def describe(self) -> Iterable[Metric]:
        """Nothing: names are known without asking for values."""
        return ()

    def collect(self) -> Iterable[Metric]:
        inside = GaugeMetricFamily("flagfall_http_requests_in_flight", "Requests being answered.", labels=["gate"])
        waiting = GaugeMetricFamily("flagfall_http_requests_waiting", "Requests in line.", labels=["gate"])
        refused = CounterMetricFamily(
            "flagfall_http_requests_refused", "Requests that were not answered.", labels=["gate", "reason"]
        )
        for name, gate in self.gates.items():
            inside.add_metric([name], gate.inside)
            waiting.add_metric([name], gate.waiting)
            for reason in (QUEUE_FULL, WAITED_TOO_LONG, TOO_SLOW):
                refused.add_metric([name, reason], gate.refused[reason])
        return inside, waiting, refused

    def route(self, request: web.Request) -> Route | None:
        """The one that the request is for, if it has a gate."""
        return self._routes.get(request.match_info.route.name or "")


ADMISSION = web.AppKey("admission", Admission)


@web.middleware
async def admitted(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer once what the route waits for is so, and its gate lets the request in.

    One begins in a turn of the loop, whatever came in the turn before: a point query awaits nothing, so all that fit
    inside would hold the loop together. The others are in line, or refused, before the first is answered.
    """
    admission = request.app[ADMISSION]
    route = admission.route(request)
    if route is None or route.gate is None:
        return await handler(request)
    if route.before is not None:
        await route.before(request)
    gate = admission.gates[route.gate]
    async with gate.entered():
        async with gate.turn:
            await asyncio.sleep(0)
        return await handler(request)
