"""What handlers answer with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from app.edge.http.problems import Problem

MOST_HEADER_BYTES = 8_000
"""Clients take a little more."""


def json_response(document: Any, *, status: int = 200) -> web.Response:
    """JSON in UTF-8; integers up to 64 bits as they are."""
    return web.Response(body=orjson.dumps(document), status=status, content_type="application/json")


def meta_headers(meta: Mapping[str, Any]) -> dict[str, str]:
    """What rows rest on, for formats without a place for it; the position as `min_position` takes it."""
    position = ",".join(f"{at}:{next_offset}" for at, next_offset in meta["position"].items())
    if len(position) > MOST_HEADER_BYTES:
        raise Problem("not-acceptable", f"The position, {len(position)} bytes, is too long for a header: ask for JSON.")
    told = {
        "Flagfall-As-Of": meta["as_of"],
        "Flagfall-Position": position,
        "Flagfall-Partial": str(meta["partial"]).lower(),
        "Flagfall-Stale": ",".join(f"{one['partition']}:{one['seconds']}" for one in meta["stale"]) or None,
        "Flagfall-Next-Cursor": meta["next_cursor"],
    }
    return {name: value for name, value in told.items() if value is not None}
