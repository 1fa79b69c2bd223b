"""What a worker logs: its own lines, warnings of the libraries, and errors raised on purpose in words."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from app.domain.errors import FlagfallError

TALKATIVE = ("faust", "mode", "aiokafka", "httpx", "httpx2", "asyncio")
"""At info these tell every step of every rebalance, request and service; `-l debug` shows it."""
REPEAT_SECONDS = 10.0
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


class Sparing(logging.Filter):
    """Shows what a library says again and again once in a while, and how often it was said meanwhile.

    While a broker is away each client says so several times a second, for every node it looks for.
    """

    def __init__(self, every_seconds: float = REPEAT_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._every_seconds, self._clock = every_seconds, clock
        self._told: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] not in TALKATIVE:
            return True
        said, now = (record.name, str(record.msg)), self._clock()
        told_at, left_out = self._told.get(said, (float("-inf"), 0))
        if now - told_at < self._every_seconds:
            self._told[said] = told_at, left_out + 1
            return False
        self._told[said] = now, 0
        if left_out:
            record.msg = f"{record.msg} (and {left_out} more of the kind since)"
        return True


def is_no_step(record: logging.LogRecord) -> bool:
    """Whether a record is more than a service's "Starting...", "Stopping..." and the like."""
    return record.levelno != logging.INFO or not str(record.msg).startswith(STEP)


def settle(root: logging.Logger, level: int) -> None:
    """To be called when Faust has set up its handlers; `level` is the one asked for on the command line."""
    for handler in root.handlers:
        handler.addFilter(InWords())
        if level > logging.DEBUG:
            handler.addFilter(Sparing())
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
