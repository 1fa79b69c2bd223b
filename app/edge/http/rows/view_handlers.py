"""Views, their rows, and the parts that one worker gives to another."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from aiohttp import hdrs, web
from multidict import MultiDict, MultiMapping

from app.edge.formats.format import MOST_IN_COLUMNS, Format, Told
from app.edge.http.context import Edge, edge_of
from app.edge.http.entry.given import give
from app.edge.http.kept import kept_response
from app.edge.http.problems import bad_parameter
from app.edge.http.query.answer_format import asked_format
from app.edge.http.query.parameters import (
    CURSOR,
    LIMIT,
    MAX_STALENESS,
    MIN_POSITION,
    OF_ROWS,
    PARTITION,
    STORED_FROM,
    one,
)
from app.edge.http.query.read_query import read_no_parameters, read_partial, read_query, read_staleness
from app.edge.http.query.rows_query import ALL_ROWS, RowsQuery, no_rows_query
from app.edge.http.query.seal import SEAL, Seal
from app.edge.http.responses import cursor_header, json_response, meta_headers
from app.edge.http.rows.answered import answered
from app.edge.http.rows.answers import rows_answer
from app.edge.http.rows.gather import gather
from app.edge.http.rows.own_parts import own_parts, stale_parts
from app.edge.http.rows.parts import encode_parts
from app.edge.http.rows.view_documents import state_document, view_document
from app.edge.http.streamed import cut_on_failure
from app.engine.drive.ownership.directory import Directory


async def list_views(request: web.Request) -> web.Response:
    """Every definition; needs no state, so it is answered whatever the worker's standing."""
    read_no_parameters(request)
    return json_response({"data": [view_document(view) for view in edge_of(request).views.values()]})


async def show_view(request: web.Request) -> web.Response:
    """One definition, and where its tasks stand."""
    edge = edge_of(request)
    view = edge.view(request.match_info["view"])
    partial_allowed = read_partial(request.query)
    edge.require_ready(view)
    gathered = await gather(edge, no_rows_query(view, partial_allowed=partial_allowed))
    return json_response(state_document(edge, view, gathered))


async def show_rows(request: web.Request) -> web.Response:
    """A page of rows, merged over all tasks; the position that is asked for is covered by now."""
    edge = edge_of(request)
    query, written = read_rows_request(request)
    edge.require_ready(query.view, stale_allowed=query.max_staleness_us is not None)
    found = await answered(edge, query)
    body, headers = await rows_answer(edge, found, partial(_written, request.app[SEAL], written))
    return kept_response(request, body, written.media_type, is_closed=found.is_closed, headers=headers)


def _written(seal: Seal, written: Format, told: Told) -> tuple[bytes, dict[str, str]]:
    """The answer, its cursor sealed, and headers with that and with what it has no place for."""
    if (cursor := told.meta["next_cursor"]) is not None:
        told.meta["next_cursor"] = seal.sealed(cursor.encode())
    return written.encode(told), (cursor_header if written.has_meta else meta_headers)(told.meta)


def read_rows_request(request: web.Request) -> tuple[RowsQuery, Format]:
    """What rows are asked for, and how they are to be written; a problem if it cannot be."""
    view = edge_of(request).view(request.match_info["view"])
    written = asked_format(request.query, request.headers.getall(hdrs.ACCEPT, []))
    parameters = _opened(request.app[SEAL], request.query)
    query = read_query(view, parameters, also=OF_ROWS, most_rows=written.most_rows)
    query = replace(query, max_staleness_us=read_staleness(request.query))
    if query.max_staleness_us is not None and (at_least := request.query.get(MIN_POSITION)) is not None:
        raise bad_parameter(MIN_POSITION, at_least, f"not with {MAX_STALENESS}: what is stale may cover less")
    return query, written


def _opened(seal: Seal, given: MultiMapping[str]) -> MultiDict[str]:
    """The parameters, with what the cursor holds."""
    parameters = MultiDict(given)
    if (cursor := one(given, CURSOR)) is not None:
        parameters[CURSOR] = seal.opened(cursor).decode(errors="replace")
    return parameters


async def give_parts(request: web.Request) -> web.StreamResponse:
    """The parts of the asked partitions that are owned here; the others are left out, never forwarded.

    What takes long begins with the answer's head, by which the asking worker knows that this one lives.
    """
    edge = edge_of(request)
    view, also = edge.view(request.match_info["view"]), (PARTITION, STORED_FROM, MAX_STALENESS)
    query = read_query(view, request.query, also=also, most_rows=MOST_IN_COLUMNS)
    query = replace(query, max_staleness_us=read_staleness(request.query))
    if LIMIT not in request.query:  # another worker is not told of limits that no table reaches
        query = replace(query, limit=ALL_ROWS)
    if (stored_from := request.query.get(STORED_FROM)) is not None:
        query = replace(query, stored_from_us=_integer(STORED_FROM, stored_from))
    stale_allowed = query.max_staleness_us is not None
    partitions = [
        read_partition(edge, edge.directory(query.view), text, stale_allowed=stale_allowed)
        for text in request.query.getall(PARTITION, [])
    ]
    edge.require_ready(query.view, stale_allowed=stale_allowed)
    begun = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "application/json"})
    with cut_on_failure(request, begun):
        parts = await own_parts(edge, query, partitions, partial(begun.prepare, request))
        if stale_allowed:
            parts += stale_parts(edge, query, {*partitions} - {part.partition for part in parts})
        body = encode_parts(parts)
        if not begun.prepared:
            return web.Response(body=body, content_type="application/json")
        await give(request, begun, body)
        await begun.write_eof()
    return begun


def _integer(name: str, text: str) -> int:
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    raise bad_parameter(name, text, "microseconds since the epoch")


def read_partition(edge: Edge, directory: Directory, text: str, *, stale_allowed: bool = False) -> int:
    """A partition number of the group; a 503 problem while the worker does not know how many there are."""
    edge.require_answers(directory, stale_allowed=stale_allowed)
    last = directory.partitions - 1
    if text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= last:
        return int(text)
    raise bad_parameter("partition", text, f"0 to {last}")
