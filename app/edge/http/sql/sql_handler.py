"""`POST /v1/sql`: a statement that only reads, over the rows of the views that it names."""

from __future__ import annotations

from typing import Literal

from aiohttp import hdrs, web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.codecs.stored.arrow_columns import arrow_stream
from app.edge.http.context import Edge, edge_of
from app.edge.http.decoding import document
from app.edge.http.entry.bodies import read_body, require_sent_as
from app.edge.http.problems import Problem, bad_parameter
from app.edge.http.query.answer_format import liked
from app.edge.http.query.instants import INSTANT_EXAMPLE, to_us
from app.edge.http.query.read_query import read_no_parameters, require_in_order
from app.edge.http.query.served_names import ZONES
from app.edge.http.rows.answers import meta_document, whole_page
from app.edge.http.sql.gather_tables import Range, TableRows, gather_tables
from app.edge.http.tabular.tables import table_of, zones_table
from app.edge.http.zone_names import Names, names_document
from app.edge.intake.encoding import NoDocument
from app.edge.sql.process import Statement, StatementAsked, StatementLost, StatementRefused, statement

MEDIA_TYPES = {"json": "application/json", "arrow": "application/vnd.apache.arrow.stream"}
MOST_BODY_BYTES = 100_000
MOST_ANSWER_BYTES = 64_000_000


class StatementBody(BaseModel):
    """What is sent. Only windows that start in `[from, to)` are in the tables."""

    model_config = ConfigDict(extra="forbid")

    sql: str = Field(description="One SELECT in DuckDB's dialect; its tables are the views.")
    from_: str | None = Field(None, alias="from", description="Windows that start at this instant or later.")
    to: str | None = Field(None, description="Windows that start before this instant.")
    format: Literal["json", "arrow"] | None = Field(None, description="How the answer is written; else Accept decides.")


async def answer_statement(request: web.Request) -> web.Response:
    """A statement's answer. Every table is of one position, which meta names; those of a task group of the same."""
    edge, body = edge_of(request), await _read(request)
    limits, written = edge.limits, body.format or liked(MEDIA_TYPES, request.headers.getall(hdrs.ACCEPT, []))
    asked = StatementAsked(
        sql=body.sql,
        known=[*edge.views, ZONES],
        format=written,
        memory_mb=limits.statement_memory_mb,
        most_rows=limits.statement_rows,
        most_bytes=MOST_ANSWER_BYTES,
        seconds=limits.statement_seconds,
    )
    range_us = _instant("from", body.from_), _instant("to", body.to)
    require_in_order(*range_us)
    try:
        async with statement(asked) as process:
            answer = await _answered(edge, process, range_us)
    except StatementRefused as refused:
        raise Problem("bad-statement", str(refused)) from None
    except StatementLost as lost:
        raise Problem("statement-ended", f"{lost} Ask again.") from None
    return web.Response(body=answer, content_type=MEDIA_TYPES[written])


async def _answered(edge: Edge, process: Statement, range_us: Range) -> bytes:
    wanted = await process.tables()
    views = [edge.views[name] for name in wanted if name in edge.views]
    are_named = ZONES in wanted
    for view in views:
        edge.require_ready(view)
    gathered = await gather_tables(edge, views, range_us)
    positions = {one.query.view.name: meta_document(edge, one.query.view, one.gathered) for one in gathered}
    meta = {"as_of": _lowest([told["as_of"] for told in positions.values()]), "views": positions}
    if are_named:
        meta["zones"] = names_document(edge.names)
        await process.give(ZONES, arrow_stream(zones_table(edge.names)))
    for one in gathered:
        await process.give(one.query.view.name, await edge.long_work.run(True, _stream, one, edge.names))
    return await process.answer(meta)


def _lowest(instants: list[str | None]) -> str | None:
    """Null where one is, or where there is none."""
    known = [instant for instant in instants if instant is not None]
    return min(known, key=to_us) if known and len(known) == len(instants) else None


def _stream(one: TableRows, names: Names) -> bytes:
    rows = whole_page(one.query, one.gathered).rows
    return arrow_stream(table_of(one.query, rows, one.gathered.closed_to_us, names))


async def _read(request: web.Request) -> StatementBody:
    read_no_parameters(request)
    require_sent_as(request, [MEDIA_TYPES["json"]])
    too_long = Problem("too-large", f"A statement has at most {MOST_BODY_BYTES:,} bytes.")
    body = await read_body(request, MOST_BODY_BYTES, too_long)
    try:
        read = StatementBody.model_validate_json(body)
    except ValidationError as error:
        told = [f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in error.errors(include_url=False)]
        raise Problem("bad-request", "; ".join(told)) from None
    if isinstance(why := document(body), NoDocument):
        raise Problem("bad-request", f"{why.why}.")
    return read


def _instant(name: str, text: str | None) -> int | None:
    try:
        return None if text is None else to_us(text)
    except ValueError:
        raise bad_parameter(name, str(text), INSTANT_EXAMPLE) from None
