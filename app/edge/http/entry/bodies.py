"""What a request brings, bounded in bytes and in time."""

from __future__ import annotations

import asyncio

from aiohttp import web
from aiohttp.http_exceptions import ContentEncodingError

from app.edge.http.problems import Problem

BODY_SECONDS = 10.0
"""For all of it to come."""


async def read_body(request: web.Request, most_bytes: int, too_long: Problem) -> bytes:
    """All of it, as it was before it was compressed; `too_long` where it has more than these bytes."""
    if (request.content_length or 0) > most_bytes:
        raise too_long
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.content.iter_any():
                body += part
                if len(body) > most_bytes:
                    raise too_long
    except TimeoutError:
        raise Problem("bad-request", f"What was sent did not come within {BODY_SECONDS:g} s.") from None
    except (web.RequestPayloadError, ContentEncodingError) as error:
        raise Problem("bad-request", f"What was sent cannot be read: {error}") from error
    return bytes(body)
