"""An answer that is to cover a position waits for it before it takes a place among those that are answered."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from app.domain.records import TopicPartition
from app.domain.view import View
from app.edge.http.context import Edge, edge_of
from app.edge.http.entry.admission import ADMISSION
from app.edge.http.entry.callers import caller_of
from app.edge.http.positions.standing import POSITIONS, PositionWatch
from app.edge.http.problems import Problem, bad_parameter
from app.edge.http.query.min_position import MinPosition, read_min_position
from app.edge.http.query.parameters import MIN_POSITION, WAIT
from app.edge.http.route import WAITS
from app.edge.http.rows.view_handlers import read_rows_request

LOOK_SECONDS = 0.05


async def position_reached(request: web.Request) -> None:
    """Returns at once if no position is asked for, else when it is covered; the `not-reached` problem if it is not in
    time."""
    if MIN_POSITION not in request.query and WAIT not in request.query:
        return
    edge, (query, _) = edge_of(request), read_rows_request(request)
    view, wanted = query.view, read_min_position(query.view, request.query)
    if wanted is None:
        return
    edge.require_ready(view)
    _require_places(edge, view, wanted)
    positions = request.app[POSITIONS]
    if await _behind(positions, view, wanted):
        async with request.app[ADMISSION].gates[WAITS].entered(caller_of(request).name):
            await _reach(positions, view, wanted)


def _require_places(edge: Edge, view: View, wanted: MinPosition) -> None:
    partitions = edge.directory(view).partitions
    for place in wanted.at_least:
        if place.partition >= partitions:
            raise bad_parameter(MIN_POSITION, str(place), f"partitions from 0 to {partitions - 1}")


async def _reach(positions: PositionWatch, view: View, wanted: MinPosition) -> None:
    deadline = time.monotonic() + wanted.wait_seconds
    while behind := await _behind(positions, view, wanted):
        if time.monotonic() >= deadline:
            told = ", ".join(f"{place} at {offset}" for place, offset in sorted(behind.items()))
            detail = f"The tables cover less after {wanted.wait_seconds:g} s: {told}."
            raise Problem("not-reached", detail, position={str(place): offset for place, offset in behind.items()})
        await asyncio.sleep(LOOK_SECONDS)


async def _behind(positions: PositionWatch, view: View, wanted: MinPosition) -> dict[TopicPartition, int]:
    """What is not covered yet, with where it is; a task that cannot be had is at nothing."""
    covered = await positions.now(view)
    return {place: covered.get(place, 0) for place, offset in wanted.at_least.items() if covered.get(place, 0) < offset}
