"""`/v1/views/{view}/evidence`: the records behind a row, read from their topics again, and whether they give it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from aiohttp import web

from app.domain.fingerprint import as_hex
from app.domain.records import Place, Record, TopicPartition
from app.domain.rows import COUNT_AT, FINGERPRINT_AT, RowKey
from app.domain.source import Kind
from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.edge.http.brokers import Brokers
from app.edge.http.context import edge_of
from app.edge.http.evidence.asked_row import DEFAULT_RECORDS, MAX_RECORDS, ToldRow, asked_row, told_row
from app.edge.http.evidence.looking import Looking
from app.edge.http.evidence.search_cursors import SearchCursor, decode, encode
from app.edge.http.evidence.verdict import lacks, missing, verdict
from app.edge.http.problems import Problem
from app.edge.http.query.parameters import CURSOR, TO_THE_END, choice, one, whole_number
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.query.seal import SEAL
from app.edge.http.responses import json_response
from app.edge.http.rows.answered import not_in_history
from app.edge.http.rows.answers import row_document
from app.edge.http.rows.gather import Gathered, gather
from app.edge.http.rows.parts import InputState
from app.edge.http.zone_names import Names
from app.engine.core.searching import Search, SearchSpan
from app.engine.drive.kafka.row_search import CoveredInput


async def show_evidence(request: web.Request) -> web.Response:
    """A page of the row's records, and what is known of all of them so far."""
    edge, seal = edge_of(request), request.app[SEAL]
    brokers = Brokers(edge.limits.max_seconds)
    view = edge.view(request.match_info["view"])
    asked, query = asked_row(view, request.query)
    limit = whole_number(request.query, "limit", MAX_RECORDS) or DEFAULT_RECORDS
    to_the_end = choice(request.query, TO_THE_END, ("false", "true")) == "true"
    given = one(request.query, CURSOR)
    cursor = None if given is None else decode(seal, view, asked, given, to_the_end=to_the_end)
    edge.require_ready(view)
    gathered = await gather(edge, query, takes_partial=False)
    if cursor is None:
        row = told_row(view, asked, query, gathered)
        _require_whole(query, row.asked.start_us, gathered.left_below_us(view))
        cursor = _begun(view, row, gathered, to_the_end=to_the_end)
    searcher = edge.searcher(view)
    rulings = await brokers.answer(searcher.rulings(view, _covered(gathered, cursor)))
    looking = Looking(searcher, brokers, edge.long_work, view, rulings, limit=limit)
    spans = list[SearchSpan]()
    if not cursor.is_adding:
        spans = await brokers.answer(searcher.spans(view, cursor.asked, rulings, cursor.wanted))
    cursor = cursor.going_on(await _looked(looking, cursor, spans))
    told = await verdict(searcher, brokers, looking, view, cursor, rulings)
    names, closed_to_us = edge.names, gathered.closed_to_us
    return json_response(
        {
            "data": [record_document(view, one, looking.added) for one in looking.records],
            "meta": {
                "view": view.name,
                "version": view.version,
                "row": _row(view, query, cursor, closed_to_us, names),
                "position": {str(place): at.next_offset for place, at in rulings.covered.items()},
                "found": {"count": cursor.found[COUNT_AT], "fingerprint": as_hex(cursor.found[FINGERPRINT_AT])},
                "searched_to_the_end": cursor.is_exhausted,
                "agrees": told.agrees,
                "missing": missing(view, cursor, told.lost) if cursor.is_short else None,
                "lacks": lacks(view, cursor) if told.agrees is False else None,
                "offsets_read": looking.offsets,
                "next_cursor": None if cursor.is_at_end else encode(seal, cursor),
            },
        }
    )


async def _looked(looking: Looking, cursor: SearchCursor, spans: Sequence[SearchSpan]) -> Search:
    """Where the records should stand; then, while some are missing, where those stand that corrections brought in."""
    search = Search(cursor.asked, (), cursor.wanted, cursor.found)
    if not cursor.is_adding:
        search = await looking.go_on(cursor.search_in(spans))
        if search.next is not None or not search.is_short:
            return search
        cursor = cursor.going_on(search)
    return await looking.go_on(cursor.search_in(await looking.added_spans(search)))


def _require_whole(query: RowsQuery, start_us: int | None, left_us: int | None) -> None:
    """The `not-in-history` problem of a row that has left some task's table: what others still have is a part of it."""
    if start_us is not None and left_us is not None and start_us < left_us:
        raise not_in_history(query, left_us, "records are looked for behind rows that the tables hold")


def _begun(view: View, row: ToldRow, gathered: Gathered, *, to_the_end: bool) -> SearchCursor:
    """A search that has found nothing yet: in tasks that have some of the row; to the end, in all."""
    return SearchCursor(
        view=view.name,
        version=view.version,
        start_us=row.asked.start_us,
        end_us=row.asked.end_us,
        group=row.asked.group,
        row=row.cells,
        corrected=row.corrected,
        position=tuple(state.next_offset for _, state in _inputs(gathered)),
        wanted={task: count for task, count in row.wanted.items() if count or to_the_end},
        found=view.neutral,
        to_the_end=to_the_end,
    )


def _inputs(gathered: Gathered) -> list[tuple[TopicPartition, InputState]]:
    """What each task had read, in the order of their places."""
    inputs = ((p, topic, state) for p, part in gathered.parts.items() for topic, state in part.inputs.items())
    return sorted(((TopicPartition(topic, p), state) for p, topic, state in inputs), key=lambda told: told[0])


def _covered(gathered: Gathered, cursor: SearchCursor) -> dict[TopicPartition, CoveredInput]:
    """What tasks had read when the row was told, with the rules of now: what had been judged stays so."""
    inputs, offsets = _inputs(gathered), cursor.position
    is_known = len(inputs) == len(offsets) and gathered.parts.keys() >= cursor.wanted.keys()
    if not is_known or any(state.next_offset < at for (_, state), at in zip(inputs, offsets, strict=True)):
        raise Problem("bad-cursor", "It names other offsets than there are now; start again without a cursor.")
    return {
        place: CoveredInput(offset, state.skews, state.graces)
        for (place, state), offset in zip(inputs, offsets, strict=True)
    }


def _row(view: View, query: RowsQuery, cursor: SearchCursor, closed_to_us: int, names: Names) -> dict[str, Any]:
    """The row as an answer tells it."""
    window_us = None
    if view.window.panes is not None and cursor.start_us is not None and cursor.end_us is not None:
        window_us = cursor.end_us - cursor.start_us
    key = RowKey(cursor.start_us, cursor.group)
    shown = replace(query, window_us=window_us)
    return row_document(shown, key, list(cursor.row), closed_to_us, names, corrected=cursor.corrected)


def record_document(view: View, record: Record, added: Set[Place]) -> dict[str, Any]:
    """A record as users read it: instants as text."""
    columns = view.source.by_name
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": to_iso(record.timestamp_ms * 1000),
        "added": Place(record.topic, record.partition, record.offset) in added,
        "values": {
            name: to_iso(value) if columns[name].kind is Kind.INSTANT and isinstance(value, int) else value
            for name, value in record.values.items()
        },
    }
