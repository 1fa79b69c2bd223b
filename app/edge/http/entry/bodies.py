"""What a request brings: of a kind that is taken, bounded in bytes and in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from aiohttp import hdrs, web

from app.edge.http.entry.unpacking import CannotUnpack, Unpacking, encoding_of
from app.edge.http.problems import Problem

BODY_SECONDS = 10.0
"""For all of it to come."""


UTF_8 = ("utf-8", "utf8")


def require_sent_as(request: web.Request, media_types: Sequence[str]) -> None:
    """The `not-taken-so` problem of what is no text of these types in UTF-8. A page of another origin can send no JSON
    unasked."""
    if request.content_type not in media_types:
        raise Problem("not-taken-so", f"Send {' or '.join(media_types)}, and say so in {hdrs.CONTENT_TYPE}.")
    if (charset := request.charset) is not None and charset.lower() not in UTF_8:
        raise Problem("not-taken-so", f"{hdrs.CONTENT_TYPE}: JSON is sent as UTF-8, not as {charset}.")


async def read_body(request: web.Request, most_bytes: int, too_long: Problem) -> bytes:
    """All of it, as it was before it was compressed; `too_long` where it has more than these bytes."""
    if (request.content_length or 0) > most_bytes:
        raise too_long
    body = bytearray()
    try:
        encoding = encoding_of(", ".join(request.headers.getall(hdrs.CONTENT_ENCODING, [])))
    except CannotUnpack as error:
        raise Problem("not-taken-so", f"What was sent cannot be read: {error}.") from None
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in _unpacked(request, encoding, most_bytes + 1):
                body += part
                if len(body) > most_bytes:
                    raise too_long
    except TimeoutError:
        raise Problem("bad-request", f"What was sent did not come within {BODY_SECONDS:g} s.") from None
    except web.RequestPayloadError as error:
        why = "it ends before it is whole, or is not in the pieces that its head tells of"
        raise Problem("bad-request", f"What was sent cannot be read: {why}.") from error
    except CannotUnpack as error:
        raise Problem("bad-request", f"What was sent cannot be read: {error}.") from None
    return bytes(body)


async def _unpacked(request: web.Request, encoding: str | None, most_bytes: int) -> AsyncIterator[bytes]:
    """Its parts, each with so many bytes at most where it is compressed."""
    unpacking = None if encoding is None else Unpacking(encoding)
    async for part in request.content.iter_any():
        yield part if unpacking is None else unpacking.read(part, most_bytes)
    if unpacking is not None:
        unpacking.end()
