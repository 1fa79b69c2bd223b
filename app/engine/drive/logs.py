"""What a worker logs: its own lines, warnings of the libraries, and errors raised on purpose in words."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import cast

from app.base.kafka.passing import refusal_in_words
from app.base.log_lines import JsonLines, log_as_json
from app.domain.errors import FlagfallError

TALKATIVE = ("faust", "mode", "aiokafka", "httpx", "httpx2", "asyncio", "aiohttp")
"""At info these tell every step of every rebalance, request and service; `-l debug` shows it."""
REPEATING = {"app.engine.drive.kafka.schemas": 1, "app.edge.http.problems": 10}
"""Of ours, what may say the same any number of times: of each of thousands of ids, or to each caller. And how many of
a kind are shown before they are folded: the trace of each of a few refusals is looked for."""
FOLD_SECONDS = 60.0
"""So often what is said again and again is shown; what was not said for so long is over."""
NUMBERS = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?")
"""What may differ between two lines of one kind that a library has put together itself."""
NO_ERROR = (None, None, None)
"""What a line has for its traceback that mode writes of a crash beside any handler: it would say "NoneType: None"."""
RERAISING = "We experienced a crash"
STEP = "[^"
"""How mode begins what services tell of themselves, ours too: under their modules' names, which are not talkative."""


class InWords(logging.Filter):
    """Shows an error that was raised on purpose, and what Kafka refuses, once and without a traceback: the text says
    what to do."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info == NO_ERROR:
            record.exc_info = None
        text = _words(record)
        if text is None:
            return not (self._told and RERAISING in str(record.msg))
        if hasattr(record, "trace_id"):  # of a request: somebody may look for each
            record.msg, record.args = f"{record.msg}: %s", (*cast(tuple[object, ...], record.args), text)
            record.exc_info = record.exc_text = None
            return True
        if text in self._told:
            return False
        self._told.add(text)
        record.msg, record.args, record.exc_info, record.exc_text = text, (), None, None
        return True


@dataclass
class Repeated:
    """Something that is said again and again: since when, last when, how often; times in seconds of a clock."""

    level: int
    words: str
    began: float
    shown: float
    said: float
    times: int = 1
    hidden: int = 0


class Folding(logging.Filter):
    """Shows what is said again and again when it begins, once a minute with the count, and when it is over.

    While a broker is away each client says so several times a second, for every node it looks for. `tell` takes a
    record of our own, `later` calls a function after so many seconds.
    """

    def __init__(
        self,
        tell: Callable[[logging.LogRecord], object],
        clock: Callable[[], float] = time.monotonic,
        later: Callable[[float, Callable[[], None]], object] | None = None,
    ) -> None:
        super().__init__()
        self._tell, self._clock, self._later = tell, clock, later or _later
        self._open: dict[tuple[str, str], Repeated] = {}
        self._changing = threading.Lock()
        """Libraries speak in several threads."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name not in REPEATING and record.name.partition(".")[0] not in TALKATIVE:
            return True
        with self._changing:
            return self._is_shown(record)

    def _is_shown(self, record: logging.LogRecord) -> bool:
        now, kind = self._clock(), (record.name, NUMBERS.sub("#", str(record.msg)))
        known = self._open.get(kind)
        if known is None:
            if not self._open:
                self._later(FOLD_SECONDS, self._end_those_that_are_over)
            self._open[kind] = Repeated(record.levelno, record.getMessage(), now, now, now)
            return True
        known.said, known.times = now, known.times + 1
        if known.times <= REPEATING.get(record.name, 1):
            known.shown = now
            return True
        if now - known.shown < FOLD_SECONDS:
            known.hidden += 1
            return False
        record.msg, record.args = f"{record.getMessage()} (and {known.hidden} more of the kind in between)", ()
        record.exc_info = record.exc_text = None  # the first had it
        known.shown, known.hidden = now, 0
        return True

    def _end_those_that_are_over(self) -> None:
        with self._changing:
            now = self._clock()
            over = {kind: one for kind, one in self._open.items() if now - one.said >= FOLD_SECONDS}
            for kind in over:
                del self._open[kind]
            if self._open:
                self._later(FOLD_SECONDS, self._end_those_that_are_over)
        for (name, _), one in over.items():
            if one.times > 1:
                text = "not said any more, after %d times in %.0f s: %s: %s"
                told = (one.times, one.said - one.began, name, one.words)
                self._tell(logging.LogRecord(__name__, one.level, __file__, 0, text, told, None))


def _later(seconds: float, call: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()


def is_no_step(record: logging.LogRecord) -> bool:
    """Whether a record is more than a service's "Starting...", "Stopping..." and the like."""
    return record.levelno != logging.INFO or not str(record.msg).startswith(STEP)


def settle(root: logging.Logger, level: int, lines: JsonLines | None = None) -> None:
    """To be called when Faust has set up its handlers; `level` is the one asked for on the command line. `lines`: how
    they are written, if not for readers."""
    if lines is not None:
        log_as_json(root, lines)
    for handler in root.handlers:
        handler.addFilter(InWords())
        if level > logging.DEBUG:
            handler.addFilter(Folding(handler.handle))
        if level >= logging.INFO:
            handler.addFilter(is_no_step)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(level if level < logging.INFO else max(level, logging.WARNING))


def _words(record: logging.LogRecord) -> str | None:
    """Those of the error that a record was made for, with its traceback or in the place of one."""
    if not isinstance(record.exc_info, tuple):
        return None
    mentioned = record.args if isinstance(record.args, tuple) else ()
    errors = [one for one in (record.exc_info[1], *mentioned) if isinstance(one, BaseException)]
    refused = (told for one in errors if (told := refusal_in_words(one)) is not None)
    on_purpose = (str(one) for one in errors if isinstance(one, FlagfallError))
    return next(chain(refused, on_purpose), None)
