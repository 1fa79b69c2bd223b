"""A question with what was had of it from all tasks, and the window that `last` came to."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from app.domain.event_time import NO_WATERMARK
from app.edge.http.context import Edge
from app.edge.http.query.rows_query import RowsQuery, no_rows_query
from app.edge.http.rows.gather import Gathered, gather


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
