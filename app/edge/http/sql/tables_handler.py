"""The tables that one worker gives to another that answers a statement."""

from __future__ import annotations

from functools import partial

from aiohttp import hdrs, web

from app.edge.http.context import edge_of
from app.edge.http.entry.given import give
from app.edge.http.problems import bad_parameter
from app.edge.http.query.instants import INSTANT_EXAMPLE, to_us
from app.edge.http.query.parameters import one
from app.edge.http.rows.view_handlers import read_partition
from app.edge.http.sql.gather_tables import queries_of
from app.edge.http.sql.own_tables import encode_tables, own_tables
from app.edge.http.streamed import cut_on_failure

TAKEN = ("view", "partition", "from", "to")


async def give_tables(request: web.Request) -> web.StreamResponse:
    """Rows of views of one task group, of the asked partitions that are owned here; the others are left out."""
    edge = edge_of(request)
    for name, value in request.query.items():
        if name not in TAKEN:
            raise bad_parameter(name, value, f"unknown; there are: {', '.join(TAKEN)}")
    views = [edge.view(name) for name in request.query.getall("view", [])]
    if len({id(edge.directory(view)) for view in views}) != 1:
        raise bad_parameter("view", ", ".join(view.name for view in views), "give views of one task group")
    directory = edge.directory(views[0])
    partitions = [read_partition(edge, directory, text) for text in request.query.getall("partition", [])]
    edge.require_answers(directory)
    queries = queries_of(edge, views, (_instant(request, "from"), _instant(request, "to")))
    begun = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "application/json"})
    with cut_on_failure(request, begun):
        tables = await own_tables(edge, queries, partitions, partial(begun.prepare, request))
        await give(request, begun, await edge.long_work.run(True, encode_tables, tables))
        await begun.write_eof()
    return begun


def _instant(request: web.Request, name: str) -> int | None:
    text = one(request.query, name)
    try:
        return None if text is None else to_us(text)
    except ValueError:
        raise bad_parameter(name, str(text), INSTANT_EXAMPLE) from None
