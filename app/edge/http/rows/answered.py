"""A question with what was had of it from all tasks, and the window that `last` came to; once a position is covered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from app.domain.event_time import NO_WATERMARK
from app.domain.records import TopicPartition
from app.domain.view import View
from app.edge.http.context import Edge
from app.edge.http.problems import Problem, bad_parameter
from app.edge.http.query.min_position import MinPosition
from app.edge.http.query.parameters import MIN_POSITION
from app.edge.http.query.rows_query import RowsQuery, no_rows_query
from app.edge.http.rows.gather import Gathered, gather

LOOK_SECONDS = 0.05


class Answered(NamedTuple):
    """`as_of_us`: the watermark that the query was made by, if it was; those of the parts may have risen since."""

    query: RowsQuery
    gathered: Gathered
    as_of_us: int | None = None


async def answered(edge: Edge, query: RowsQuery, *, takes_partial: bool = True) -> Answered:
    """What all tasks give; of the last panes those before the lowest watermark, which is asked of all tasks first, and
    none while there is no watermark."""
    if query.last_us is None or query.until_us is not None:
        return Answered(query, await gather(edge, query, takes_partial=takes_partial))
    any_of_it = no_rows_query(query.view, partial_allowed=query.partial_allowed)
    standing = await gather(edge, any_of_it, takes_partial=takes_partial)
    as_of_us = standing.lowest_watermark_us
    if as_of_us == NO_WATERMARK:
        return Answered(replace(query, until_us=0), standing)
    query = query.until(as_of_us)
    return Answered(query, await gather(edge, query, takes_partial=takes_partial), as_of_us)


async def reach(edge: Edge, view: View, wanted: MinPosition) -> None:
    """Returns once it is covered; the `not-reached` problem if it is not in time."""
    partitions, deadline = edge.directory(view).partitions, time.monotonic() + wanted.wait_seconds
    for place in wanted.at_least:
        if place.partition >= partitions:
            raise bad_parameter(MIN_POSITION, str(place), f"partitions from 0 to {partitions - 1}")
    while behind := await _behind(edge, view, wanted.at_least):
        if time.monotonic() >= deadline:
            told = ", ".join(f"{place} at {offset}" for place, offset in sorted(behind.items()))
            detail = f"The tables cover less after {wanted.wait_seconds:g} s: {told}."
            raise Problem("not-reached", detail, position={str(place): offset for place, offset in behind.items()})
        await asyncio.sleep(LOOK_SECONDS)


async def _behind(edge: Edge, view: View, at_least: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """What is not covered yet, with where it is; a task that cannot be had is at nothing."""
    gathered = await gather(edge, no_rows_query(view, partial_allowed=True))
    covered = {
        TopicPartition(topic, partition): state.next_offset
        for partition, part in gathered.parts.items()
        for topic, state in part.inputs.items()
    }
    return {place: covered.get(place, 0) for place, offset in at_least.items() if covered.get(place, 0) < offset}
