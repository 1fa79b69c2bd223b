"""Requests that are no HTTP, or whose bodies cannot be read: a line in the log, not a trace of what refused them, and a
problem as others have it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from app.base.traces import begin_trace
from app.edge.http.entry.security import HEADERS, MAX_LINE_BYTES
from app.edge.http.problems import WORKERS_OWN, Problem, address_of

READING: Final[Mapping[str, Any]] = {
    "access_log": None,
    "max_line_size": MAX_LINE_BYTES,
    "auto_decompress": False,  # it refuses what it does not know before any handler is asked, and names what to install
}
"""How aiohttp reads what callers send."""
SERVER: Final = "flagfall"
"""It has to be something, or aiohttp names itself, its version and Python's."""


class CallersProtocol(web.RequestHandler):
    """A caller's connection: what aiohttp answers by itself, before any middleware is asked, is a problem too."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = WORKERS_OWN,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """For a head that cannot be read; aiohttp writes it into the log, and ends the connection."""
        super().handle_error(request, status, exc, message)
        begin_trace(None)
        answer = _problem(status, exc).answer(address_of(request))
        answer.headers.update(HEADERS | {hdrs.SERVER: SERVER})
        answer.force_close()
        return answer


def _problem(status: int, error: BaseException | None) -> Problem:
    if status < WORKERS_OWN and isinstance(error, HttpProcessingError):
        return Problem("bad-request", f"The head of the request cannot be read: {_what(error)}")
    return Problem("internal-error", "An unexpected failure; the worker's log has the cause.")


class BriefOfCallers(logging.Filter):
    """What a caller sent is no error of ours: a warning with what is wrong with it, without our trace."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, HttpProcessingError | web.RequestPayloadError):
            what = _what(error)
            record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
            record.msg, record.args = f"a request could not be read: {what}".replace("%", "%%"), ()
            record.exc_info = record.exc_text = None
        return True


def _what(error: HttpProcessingError | web.RequestPayloadError) -> str:
    if isinstance(error, HttpProcessingError):
        return str(error.message or "no HTTP").splitlines()[0][:200]
    return " ".join(str(error).split())[:200]


BRIEF_OF_CALLERS = BriefOfCallers()
