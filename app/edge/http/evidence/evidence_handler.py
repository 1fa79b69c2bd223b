"""`/v1/views/{view}/evidence`: the records behind a row, read from their topics again, and whether they give it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from aiohttp import web

from app.domain.fingerprint import as_hex, signed, unmix, unpack
from app.domain.records import Place, Record, TopicPartition
from app.domain.rows import COUNT_AT, FINGERPRINT_AT, RowKey
from app.domain.source import Kind
from app.domain.view import View
from app.edge.http.context import edge_of
from app.edge.http.evidence.asked_row import DEFAULT_RECORDS, MAX_RECORDS, ToldRow, asked_row, told_row
from app.edge.http.evidence.looking import Looking
from app.edge.http.evidence.search_cursors import SearchCursor, decode, encode
from app.edge.http.problems import Problem
from app.edge.http.query.instants import to_iso
from app.edge.http.query.parameters import one, whole_number
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.responses import json_response
from app.edge.http.rows.answers import row_document
from app.edge.http.rows.gather import Gathered, gather
from app.edge.http.rows.parts import InputState
from app.edge.http.zone_names import Names
from app.engine.core.searching import Search
from app.engine.drive.kafka.row_search import CoveredInput, RowSearch, Rulings


async def show_evidence(request: web.Request) -> web.Response:
    """A page of the row's records, and what is known of all of them so far."""
    edge, asked_at_seconds = edge_of(request), time.monotonic()
    view = edge.view(request.match_info["view"])
    asked, query = asked_row(view, request.query)
    limit = whole_number(request.query, "limit", MAX_RECORDS) or DEFAULT_RECORDS
    given = one(request.query, "cursor")
    cursor = None if given is None else decode(view, asked, given)
    edge.require_ready(view)
    gathered = await gather(edge, query, takes_partial=False)
    searcher = edge.searcher(view)
    if cursor is None:
        cursor = _begun(view, told_row(view, asked, query, gathered), gathered)
    async with edge.searching:
        rulings = await searcher.rulings(view, _covered(gathered, cursor.position))
        looking = Looking(searcher, edge.long_work, view, rulings, limit=limit, asked_at_seconds=asked_at_seconds)
        cursor = cursor.going_on(await _looked(looking, searcher, view, cursor, rulings))
        begins = await searcher.log_starts(rulings.covered) if _is_short(cursor) else {}
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
                "complete": _is_complete(cursor),
                "agrees": cursor.found == cursor.row if _is_complete(cursor) else None,
                "missing": _missing(view, cursor, begins) if _is_short(cursor) else None,
                "offsets_read": looking.offsets,
                "next_cursor": None if _is_complete(cursor) else encode(cursor),
            },
        }
    )


async def _looked(looking: Looking, searcher: RowSearch, view: View, cursor: SearchCursor, rulings: Rulings) -> Search:
    """Where the records should stand; then, while some are missing, where those stand that corrections brought in."""
    search = Search(cursor.asked, (), cursor.wanted, cursor.found)
    if not cursor.is_adding:
        search = await looking.go_on(cursor.search_in(await searcher.spans(view, cursor.asked, rulings, cursor.wanted)))
        if search.next is not None or not search.is_short:
            return search
        cursor = cursor.going_on(search)
    return await looking.go_on(cursor.search_in(await looking.added_spans(search)))


def _begun(view: View, row: ToldRow, gathered: Gathered) -> SearchCursor:
    """A search that has found nothing yet."""
    return SearchCursor(
        view=view.name,
        version=view.version,
        start_us=row.asked.start_us,
        end_us=row.asked.end_us,
        group=row.asked.group,
        row=row.cells,
        position=tuple(state.next_offset for _, state in _inputs(gathered)),
        wanted=row.wanted,
        found=view.neutral,
    )


def _inputs(gathered: Gathered) -> list[tuple[TopicPartition, InputState]]:
    """What each task had read, in the order of their places."""
    inputs = ((p, topic, state) for p, part in gathered.parts.items() for topic, state in part.inputs.items())
    return sorted(((TopicPartition(topic, p), state) for p, topic, state in inputs), key=lambda told: told[0])


def _covered(gathered: Gathered, position: Sequence[int]) -> dict[TopicPartition, CoveredInput]:
    """What tasks had read when the row was told, with the rules of now: what had been judged stays so."""
    inputs = _inputs(gathered)
    if len(inputs) != len(position):
        raise Problem("bad-cursor", "There are other topic-partitions than before; start again without a cursor.")
    return {
        place: CoveredInput(offset, state.skews, state.graces)
        for (place, state), offset in zip(inputs, position, strict=True)
    }


def _is_complete(cursor: SearchCursor) -> bool:
    """Whether nothing is left to be looked at."""
    return cursor.at is None


def _is_short(cursor: SearchCursor) -> bool:
    return _is_complete(cursor) and any(cursor.wanted.values())


def _row(view: View, query: RowsQuery, cursor: SearchCursor, closed_to_us: int, names: Names) -> dict[str, Any]:
    """The row as an answer tells it."""
    window_us = None
    if view.window.panes is not None and cursor.start_us is not None and cursor.end_us is not None:
        window_us = cursor.end_us - cursor.start_us
    key = RowKey(cursor.start_us, cursor.group)
    return row_document(replace(query, window_us=window_us), key, list(cursor.row), closed_to_us, names)


def _missing(view: View, cursor: SearchCursor, begins: Mapping[TopicPartition, int]) -> dict[str, Any]:
    """What could not be found: how many records, the one if it is one, and where logs begin, if that is why."""
    count = sum(cursor.wanted.values())
    told: dict[str, Any] = {
        "count": count,
        "record": None,
        "logs_begin": {str(place): at for place, at in sorted(begins.items()) if at},
    }
    if count == 1:
        number, partition, offset = unpack(unmix(signed(cursor.row[FINGERPRINT_AT] - cursor.found[FINGERPRINT_AT])))
        topics = {topic.number: topic.name for topic in view.source.topics}
        if number in topics and partition in cursor.wanted:
            told["record"] = {"topic": topics[number], "partition": partition, "offset": offset}
    return told


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
