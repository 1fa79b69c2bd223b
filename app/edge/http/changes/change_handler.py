"""Changes of an answer as they come: server-sent events that can be taken up again where they broke off.

A client that reads slowly is told less often, and more at once: each event is the difference to what was told last, so
nothing waits for it in memory, and nothing is lost.
"""

from __future__ import annotations

from aiohttp import hdrs, web

from app.edge.http.changes.events import Events
from app.edge.http.changes.feeds import FEEDS
from app.edge.http.context import edge_of
from app.edge.http.entry.callers import caller_of
from app.edge.http.entry.given import give
from app.edge.http.problems import Problem, address_of, bad_parameter
from app.edge.http.query.answer_format import require_accepted
from app.edge.http.query.parameters import NOT_OF_CHANGES
from app.edge.http.query.read_query import read_query
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.streamed import cut_on_failure

MEDIA_TYPE = "text/event-stream"
LAST_EVENT_ID = "Last-Event-ID"
UNBUFFERED = {"X-Accel-Buffering": "no"}
"""Asks proxies to hand events on as they come."""


async def show_changes(request: web.Request) -> web.StreamResponse:
    """A snapshot of the page's rows, then what changes of them, as server-sent events."""
    edge = edge_of(request)
    query = _read(request)
    require_accepted(MEDIA_TYPE, request.headers.getall(hdrs.ACCEPT, ()))
    edge.require_ready(query.view)
    response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: MEDIA_TYPE, **UNBUFFERED})
    feed = request.app[FEEDS].of(query)
    with cut_on_failure(request, response):
        async with feed.listening():
            await response.prepare(request)
            if request.method == hdrs.METH_HEAD:
                return response
            events = Events(feed.moments, address_of(request), request.headers.get(LAST_EVENT_ID))
            await _tell(request, response, events)
            await response.write_eof()
    return response


async def _tell(request: web.Request, response: web.StreamResponse, events: Events) -> None:
    """All events, and why there are no more where the caller's key has lapsed."""
    limits = edge_of(request).limits
    try:
        async with caller_of(request).counting():
            async for event in events.as_they_come(limits.heartbeat_seconds):
                await give(request, response, event, limits.export_idle_seconds)
                del event  # while the next one is waited for
    except Problem as lapsed:
        await give(request, response, events.problem(lapsed), limits.export_idle_seconds)


def _read(request: web.Request) -> RowsQuery:
    for name in NOT_OF_CHANGES:
        if (given := request.query.get(name)) is not None:
            raise bad_parameter(name, given, "not with changes, which begin with the first rows, of all partitions")
    return read_query(edge_of(request).view(request.match_info["view"]), request.query, without=NOT_OF_CHANGES)
