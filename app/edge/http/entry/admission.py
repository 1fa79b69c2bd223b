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
from app.edge.http.entry.callers import caller_of
from app.edge.http.entry.turns import Turns
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

    Up to `most_waiting` others stand in line for `wait_seconds`, in which callers take turns (`Turns`, where it says
    what `shared` is). Those inside begin by `turn`.
    """

    slug, bounded_by = "busy", variable("http_max_requests")

    def __init__(
        self, most: int, most_waiting: int, wait_seconds: float, answer_seconds: float | None, *, shared: bool = False
    ) -> None:
        self._places = Turns(most, most_waiting, shared=shared)
        self._wait_seconds, self._answer_seconds = wait_seconds, answer_seconds
        self.turn = asyncio.Lock()
        self.refused: Counter[str] = Counter()

    @property
    def inside(self) -> int:
        return self._places.inside

    @property
    def waiting(self) -> int:
        return self._places.waiting

    @asynccontextmanager
    async def entered(self, caller: str) -> AsyncIterator[None]:
        """Inside, once there is room; the `busy` problem where the line is full, or did not move in time."""
        if not self._places.take(caller):
            await self._wait(caller)
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
            self._places.leave(caller)

    async def _wait(self, caller: str) -> None:
        place = self._places.line_up(caller)
        if place is None:
            raise self._busy(QUEUE_FULL, f"{self.inside} requests are being answered and {self.waiting} wait")
        try:
            async with asyncio.timeout(self._wait_seconds):
                await asyncio.shield(place)
        except TimeoutError:
            self._places.give_up(caller, place)
            raise self._busy(WAITED_TOO_LONG, f"its turn did not come within {self._wait_seconds:g} s") from None
        except asyncio.CancelledError:
            self._places.give_up(caller, place)
            raise

    def _busy(self, reason: str, why: str) -> Problem:
        self.refused[reason] += 1
        whose = "requests" if self._places.are_taken else "requests of one caller"
        detail = f"The worker has as many {whose} as it takes ({why}; {self.bounded_by}). Ask again, or another worker."
        return Problem(self.slug, detail, reason=reason)


class GateWithoutLine(Gate):
    """Whoever does not fit in is told so at once, and whoever does has any time."""

    def __init__(self, most: int, *, shared: bool = False) -> None:
        super().__init__(most, 0, 0, None, shared=shared)


class ExportGate(GateWithoutLine):
    """Exports have no line, as each takes seconds, and no time, as their clients' networks decide it."""

    slug, bounded_by = "too-many-exports", variable("http_max_exports")


class StreamGate(GateWithoutLine):
    """Streams stay open, so none waits for another to end."""

    slug, bounded_by = "too-many-streams", variable("http_max_streams")


class WaitGate(GateWithoutLine):
    """What waits does nothing, so none waits for another; those who ask bound their time."""

    bounded_by = variable("http_max_waits")


class IntakeGate(GateWithoutLine):
    """What is brought has no line, as it would wait in memory, and no time: nobody could tell what was written."""

    slug, bounded_by = "too-many-records", variable("http_max_intakes")


class SearchGate(Gate):
    """Searches read and decode for seconds, one after the other."""

    bounded_by = "one search for records at a time"


class StatementGate(Gate):
    """Statements have bounds of their own on their time."""

    bounded_by = variable("http_max_statements")


class Admission(Collector):
    """The gates of one worker by name, and what they have seen."""

    def __init__(self, limits: HttpSettings, routes: Iterable[Route], *, shared: bool = False) -> None:
        """`shared`: no caller takes all places of a gate. Workers are one caller to one another."""
        waiting, wait_seconds, seconds = limits.max_waiting_requests, limits.max_wait_seconds, limits.max_seconds
        bounds = limits.max_requests, waiting, wait_seconds, seconds
        behind_a_statement, behind_a_search = wait_seconds + limits.statement_seconds, wait_seconds + seconds
        self.gates = {
            CALLERS: Gate(*bounds, shared=shared),
            WORKERS: Gate(*bounds),
            EXPORTS: ExportGate(limits.max_exports, shared=shared),
            STREAMS: StreamGate(limits.max_streams, shared=shared),
            STATEMENTS: StatementGate(limits.max_statements, waiting, behind_a_statement, None, shared=shared),
            SEARCHES: SearchGate(1, waiting, behind_a_search, seconds, shared=shared),
            WAITS: WaitGate(limits.max_waits, shared=shared),
            INTAKES: IntakeGate(limits.max_intakes, shared=shared),
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
    async with gate.entered(caller_of(request).name):
        async with gate.turn:
            await asyncio.sleep(0)
        return await handler(request)
