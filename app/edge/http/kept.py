"""Answers that a client may keep: it asks whether they are still what they were, and need not ask for a while where no
record can change them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from aiohttp import hdrs, web
from aiohttp.helpers import ETAG_ANY

ASK_AGAIN = "private, no-cache"
CLOSED = "private, max-age=3600"
"""A correction may still change what is closed: an hour later the client hears of it."""
DIGEST_BYTES = 12


def kept_response(
    request: web.Request, body: bytes, media_type: str, *, is_closed: bool, headers: Mapping[str, str]
) -> web.Response:
    """The answer, named by what it and its headers say; without a body (304) where the client has it."""
    name = hashlib.blake2b(body + repr(headers).encode(), digest_size=DIGEST_BYTES).hexdigest()
    cache = CLOSED if is_closed else ASK_AGAIN
    headers = {**headers, hdrs.CACHE_CONTROL: cache, hdrs.VARY: hdrs.ACCEPT, hdrs.ETAG: f'"{name}"'}
    if any(known.value in (name, ETAG_ANY) for known in request.if_none_match or ()):
        return web.Response(status=304, headers=headers)
    return web.Response(body=body, content_type=media_type, headers=headers)
