"""Answers whose head is sent before they are whole: a failure can only cut them, which the reader notices."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from app.edge.http.problems import address_of

log = logging.getLogger(__name__)


@contextmanager
def cut_on_failure(request: web.Request, response: web.StreamResponse) -> Iterator[None]:
    """Cut the connection if the answer fails after its head was sent; before that, failures are the caller's."""
    try:
        yield
    except ConnectionError:
        log.info("%s: the client left", address_of(request))
    except asyncio.CancelledError:
        if response.prepared:
            _cut(request)
        raise
    except TimeoutError:
        if not response.prepared:
            raise
        log.warning("%s: cut, as the client did not go on reading", address_of(request))
        _cut(request)
    except Exception:
        if not response.prepared:
            raise
        log.exception("%s failed", address_of(request))
        _cut(request)


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
