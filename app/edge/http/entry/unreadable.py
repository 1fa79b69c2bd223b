"""Requests that are no HTTP, or whose bodies cannot be read: a line in the log, not a trace of what refused them."""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError


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
