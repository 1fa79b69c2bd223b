"""`/v1/results`: what tasks have published, and the newest of it first."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from app.domain.windows.instants import to_iso
from app.edge.http.brokers import Brokers
from app.edge.http.context import Edge, edge_of
from app.edge.http.problems import Problem, bad_parameter
from app.edge.http.query.parameters import (
    CURSOR,
    LIMIT,
    PARTITION,
    one,
    unknown,
    whole_number,
)
from app.edge.http.query.read_query import read_no_parameters
from app.edge.http.query.seal import SEAL
from app.edge.http.responses import json_response
from app.edge.http.results import result_cursors
from app.edge.http.results.result_reader import ResultReader
from app.edge.published.newest import Newest, newest
from app.edge.published.result_topic import ResultTopic

DEFAULT_RESULTS, MAX_RESULTS = 100, 1_000
PARAMETERS = (PARTITION, LIMIT, CURSOR)


async def list_results(request: web.Request) -> web.Response:
    """The topics that results go to; needs no tables."""
    read_no_parameters(request)
    return json_response({"data": [_told(published) for published in edge_of(request).published.values()]})


async def show_results(request: web.Request) -> web.Response:
    """The last results of a topic, committed ones alone."""
    edge = edge_of(request)
    published, log, seal = _published(edge, request.match_info["topic"]), edge.results, request.app[SEAL]
    assert log is not None, "the application was made without one"
    for name in request.query:
        if name not in PARAMETERS:
            raise unknown(request.query, name, f"there are {', '.join(PARAMETERS)}")
    limit = whole_number(request.query, LIMIT, MAX_RESULTS) or DEFAULT_RESULTS
    brokers = Brokers(edge.limits.max_seconds)
    starts, stable = await brokers.answer(log.bounds(published.topic))
    chosen = _chosen(request.query.getall(PARTITION, []), len(stable))
    starts, stable = {p: starts[p] for p in chosen}, {p: stable[p] for p in chosen}
    given = one(request.query, CURSOR)
    ends = stable if given is None else result_cursors.decode(seal, published.topic, given, stable)
    page = await brokers.answer(newest(log.read, published.topic, starts, ends, limit))
    decoding = ResultReader(published, await log.schemas(page.records) if published.source else {})
    return json_response(
        {
            "data": [_document(record, decoding) for record in page.records],
            "meta": {
                **_told(published),
                "position": {f"{published.topic}-{p}": end for p, end in sorted(ends.items())},
                "next_cursor": None if page.ends is None else result_cursors.encode(seal, published.topic, page.ends),
            },
        }
    )


def _published(edge: Edge, topic: str) -> ResultTopic:
    if topic not in edge.published:
        there_are = ", ".join(edge.published) or "none"
        raise Problem("unknown-topic", f"No results go to {topic!r}; there are: {there_are}.")
    return edge.published[topic]


def _chosen(texts: list[str], count: int) -> list[int]:
    """Partitions that are asked for; all where none is."""
    for text in texts:
        if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < count):
            raise bad_parameter(PARTITION, text, f"0 to {count - 1}")
    return sorted({int(text) for text in texts}) or list(range(count))


def _told(published: ResultTopic) -> dict[str, Any]:
    return {"topic": published.topic, "kind": published.kind, "of": published.of, "help": published.help}


def _document(record: Newest, decoding: ResultReader) -> dict[str, Any]:
    values, why = decoding.values(record.value)
    return {
        "partition": record.batch.partition,
        "offset": record.offset,
        "timestamp": to_iso(record.timestamp_ms * 1000),
        "values": values,
        "unreadable": why,
    }
