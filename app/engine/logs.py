"""What a worker logs: its own lines, warnings of the libraries, and errors raised on purpose in words."""

from __future__ import annotations

import logging

from app.domain.errors import FlagfallError

TALKATIVE = ("faust", "mode", "aiokafka", "httpx", "httpx2", "asyncio")
"""At info these tell every step of every rebalance, request and service; `-l debug` shows it."""
RERAISING = "We experienced a crash"
STEP = "[^"
"""How mode begins what services tell of themselves, ours too: under their modules' names, which are not talkative."""


class InWords(logging.Filter):
    """Shows an error that was raised on purpose once and without its traceback: its text says what to do."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        error = _on_purpose(record)
        if error is None:
            return not (self._told and RERAISING in str(record.msg))
        text = str(error)
        if text in self._told:
            return False
        self._told.add(text)
        record.msg, record.args, record.exc_info, record.exc_text = text, (), None, None
        return True


def is_no_step(record: logging.LogRecord) -> bool:
    """Whether a record is more than a service's "Starting...", "Stopping..." and the like."""
    return record.levelno != logging.INFO or not str(record.msg).startswith(STEP)


def settle(root: logging.Logger, level: int) -> None:
    """To be called when Faust has set up its handlers; `level` is the one asked for on the command line."""
    for handler in root.handlers:
        handler.addFilter(InWords())
        if level >= logging.INFO:
            handler.addFilter(is_no_step)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(level if level < logging.INFO else max(level, logging.WARNING))


def _on_purpose(record: logging.LogRecord) -> FlagfallError | None:
    """The error that a record was made for, with its traceback or in the place of one."""
    if not isinstance(record.exc_info, tuple):
        return None
    mentioned = record.args if isinstance(record.args, tuple) else ()
    return next((e for e in (record.exc_info[1], *mentioned) if isinstance(e, FlagfallError)), None)
