"""What every answer carries, and what no request may be: headers, no banner, bounded addresses."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from aiohttp import hdrs, web

from app.edge.http.problems import Handler, Problem
from app.edge.http.query.parameters import CURSOR

INTERNAL = "/v1/internal/"
MAX_ADDRESS_BYTES = 16_384
"""Room for a position in each of 500 topic-partitions. A cursor has as many for itself: the page that follows one of
the longest address can be asked for."""
MAX_PARAMETERS = 300
MAX_LINE_BYTES = 98_304
"""Of a request's first line, whoever asks. Workers tell each other what a caller asked with every byte escaped, and
the partitions beside it: an address that a caller may send is not too long for them."""


SCRIPTED = "script-src 'self'; connect-src 'self'; "
"""Scripts that the worker serves, which ask the worker."""


def policy(style: str, more: str = "") -> str:
    """What a page may do, which has its style from there."""
    return (
        f"default-src 'none'; style-src {style}; {more}img-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": policy("'self'"),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


async def secure_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Runs before any answer's head is sent, errors and streams included. A handler's own header stays."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.popall(hdrs.SERVER, None)


@web.middleware
async def bounded_address(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse callers' long addresses, and more parameters than any query needs."""
    if not request.path.startswith(INTERNAL) and _too_long(request):
        allowed = f"{MAX_ADDRESS_BYTES} bytes beside its cursor, and {MAX_PARAMETERS} parameters"
        raise Problem("too-long", f"An address has at most {allowed}; ask in several requests.")
    return await handler(request)


def _too_long(request: web.Request) -> bool:
    cursor_bytes = sum(len(f"&{CURSOR}={text}") for text in request.query.getall(CURSOR, []))
    other_bytes = len(request.raw_path) - cursor_bytes
    return max(other_bytes, cursor_bytes) > MAX_ADDRESS_BYTES or request.query_string.count("&") >= MAX_PARAMETERS


@web.middleware
async def readable_head(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse an address or header lines that are no UTF-8: nothing could repeat them, and what is asked for would be
    something else."""
    if "%" in request.raw_path and not _is_text(unquote_to_bytes(request.raw_path)):
        raise Problem("bad-request", "What the address has escaped by % is no UTF-8.")
    for name, value in request.raw_headers:
        if not (value.isascii() or _is_text(value)):
            raise Problem("bad-request", f"The header {name.decode()} is no UTF-8.")
    return await handler(request)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


async def unread_body(request: web.Request) -> None:
    """Go on whatever `Expect` says: no address takes a body, so there is none to wait for or to refuse.

    In place of aiohttp's own answer, which fails with 500 on a header that is not UTF-8.
    """
