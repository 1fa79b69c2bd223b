"""What handlers answer with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from app.edge.http.problems import Problem

NEXT_CURSOR = "Flagfall-Next-Cursor"
MOST_HEADER_BYTES = 8_000
"""Clients take a little more."""


def json_response(document: Any, *, status: int = 200) -> web.Response:
    """JSON in UTF-8; integers up to 64 bits as they are."""
    return web.Response(body=orjson.dumps(document), status=status, content_type="application/json")


def meta_headers(meta: Mapping[str, Any]) -> dict[str, str]:
    """What rows rest on, for formats without a place for it."""
    token = meta["token"]
    if len(token) > MOST_HEADER_BYTES:
        raise Problem("not-acceptable", f"The position, {len(token)} bytes, is too long for a header: ask for JSON.")
    told = {
        "Flagfall-As-Of": meta["as_of"],
        "Flagfall-Position": token,
        "Flagfall-Partial": str(meta["partial"]).lower(),
        "Flagfall-Stale": ",".join(f"{one['partition']}:{one['seconds']}" for one in meta["stale"]) or None,
    }
    return {name: value for name, value in told.items() if value is not None} | cursor_header(meta)


def cursor_header(meta: Mapping[str, Any]) -> dict[str, str]:
    """By which the next page is asked for without reading this one; none on the last one."""
    return {} if meta["next_cursor"] is None else {NEXT_CURSOR: meta["next_cursor"]}
