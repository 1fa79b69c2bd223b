"""Requests that are no HTTP: a line in the log, not a trace of the parser that refused them."""

from __future__ import annotations

import logging

from aiohttp.http_exceptions import HttpProcessingError


class BriefOfCallers(logging.Filter):
    """What a caller sent is no error of ours: a warning with what is wrong with it, without our trace."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, HttpProcessingError):
            what = str(error.message or "no HTTP").splitlines()[0][:200]
            record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
            record.msg, record.args = f"a request could not be read: {what}".replace("%", "%%"), ()
            record.exc_info = record.exc_text = None
        return True


BRIEF_OF_CALLERS = BriefOfCallers()
