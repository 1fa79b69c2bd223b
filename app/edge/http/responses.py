"""What handlers answer with."""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web


def json_response(document: Any, *, status: int = 200) -> web.Response:
    """JSON in UTF-8; integers up to 64 bits as they are."""
    return web.Response(body=orjson.dumps(document), status=status, content_type="application/json")
