"""The export: all rows of one task, of one marker, as an Arrow stream.

A snapshot is taken before the first await, so its rows are of the marker's commit; copying, digest and
encoding then go in steps beside the loop. A task that moves on, or away, changes nothing in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from aiohttp import web

from app.codecs.stored.export import (
    MEDIA_TYPE,
    ExportMetadata,
    ExportWriter,
    add_digests,
    digest_of_columns,
)
from app.domain.view import View
from app.edge.http.context import Edge, edge_of
from app.edge.http.entry.given import give
from app.edge.http.problems import Problem, bad_parameter
from app.edge.http.rows.own_parts import serves
from app.edge.http.rows.view_handlers import read_partition
from app.edge.http.streamed import cut_on_failure
from app.engine.core.rows.state import Rows

SLICE_ROWS = 4_096
"""About 15 ms of digest or encoding: the loop is needed for heartbeats and batches."""
HOP = "hop"
"""Marks an address that a worker sent the client to; it is not sent on a second time."""


async def export(request: web.Request) -> web.StreamResponse:
    """`?partition=p`: streamed if the task is here, else 307 to its owner."""
    edge = edge_of(request)
    view = edge.view(request.match_info["view"])
    partition = _read(edge, view, request)
    task = edge.directory(view).tasks.get(partition)
    if task is None or task.is_ahead or not serves(task, view):  # of a marker that its log does not hold yet
        raise _elsewhere(edge, request, view, partition)
    marker, offset = task.marker, task.marker_offset
    rows = await edge.long_work.copied(task.views[view.name])  # at once, so that they belong to the marker
    digests = edge.long_work.in_steps(digest_of_columns(view, *piece[:3]) for piece in slices(rows))
    digest = add_digests(*[one async for one in digests])
    metadata = ExportMetadata(view.name, view.version, partition, marker, offset, len(rows), digest)
    response = web.StreamResponse(headers={"Content-Type": MEDIA_TYPE})
    with cut_on_failure(request, response):
        await response.prepare(request)
        writer = ExportWriter(view, metadata)
        encoded = edge.long_work.in_steps(writer.rows(*piece[:3]) for piece in slices(rows))
        async for some in encoded:
            await give(request, response, some, edge.limits.export_idle_seconds)
        async with asyncio.timeout(edge.limits.export_idle_seconds):
            await response.write_eof(writer.end())
    return response


def slices(rows: Rows) -> Iterator[Rows]:
    """The rows in slices; one empty slice where there are none, as a stream needs its head."""
    for start in range(0, max(len(rows), 1), SLICE_ROWS):
        at = slice(start, start + SLICE_ROWS)
        windows = None if rows.windows is None else rows.windows[at]
        yield Rows(windows, [held[at] for held in rows.groups], rows.cells[at])


def _read(edge: Edge, view: View, request: web.Request) -> int:
    for name, value in request.query.items():
        if name not in ("partition", HOP):
            raise bad_parameter(name, value, "unknown; an export takes partition")
    asked = request.query.getall("partition", [])
    edge.require_ready(view)
    if len(asked) != 1:
        allowed = f"give one, 0 to {edge.directory(view).partitions - 1}; an export is of one task"
        raise bad_parameter("partition", ", ".join(asked), allowed)
    return read_partition(edge, edge.directory(view), asked[0])


def _elsewhere(edge: Edge, request: web.Request, view: View, partition: int) -> Exception:
    directory = edge.directory(view)
    owner = directory.owners.get(partition)
    if owner is None or owner == directory.url or HOP in request.query:
        detail = f"{view.name} partition {partition} is not whole on any worker that this one knows. Ask again."
        missing = [{"partition": partition, "owner": owner, "why": "being taken over or built"}]
        return Problem("partitions-missing", detail, missing=missing)
    return web.HTTPTemporaryRedirect(f"{owner.rstrip('/')}{request.path}?partition={partition}&{HOP}=1")
