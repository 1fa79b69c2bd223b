"""How a worker's process ends, and that it does: a bound on the time, whatever hangs.

Ending a process at any moment is harmless to the figures: what was committed is in the changelog, what was not is
read again by the next owner. So nothing here is worth waiting for without end.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import sys
import threading
import time
import traceback
from collections import Counter
from enum import IntEnum
from typing import Any, NoReturn

from app.domain.errors import FlagfallError

log = logging.getLogger(__name__)

TELL_SECONDS = 2.0
STACK_DEPTH = 15
NAMED = 3
"""Coroutines named of each task, the innermost: who waits for whom."""


class ExitCode(IntEnum):
    """What a supervisor may conclude. The last two are sysexits' EX_IOERR and EX_TEMPFAIL."""

    CLEAN = 0  # told to stop: transactions committed, group left
    FAILED = 1  # an error, in words in the log; it may come again
    BROKEN_OFF = 74  # told to stop, and did not manage it in time: nobody answered
    STALLED = 75  # had input and got nowhere: start it again


class Stalled(FlagfallError):
    """The worker had input and made no progress; its process ends so that it is started again."""


class Ending:
    """Ends the process if it has not ended itself `timeout_seconds` after `begin`."""

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._begun = threading.Lock()
        self.loop: asyncio.AbstractEventLoop | None = None
        """The worker's, once it runs: what its tasks wait for is told."""

    def begin(self, code: ExitCode) -> None:
        """From now on the time runs; `code` is for the case that it runs out. Only the first call counts."""
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self._wait, args=(code,), name="ending", daemon=True).start()

    def _wait(self, code: ExitCode) -> None:
        time.sleep(self._timeout_seconds)
        hanging = waits_of(self.loop) if self.loop is not None else main_stack()
        end_now(code, f"did not stop within {self._timeout_seconds:g} s; what it waits for:\n{hanging}")


def leave(code: ExitCode) -> NoReturn:
    """End a process that has done all it had to, without what libraries do at the very end.

    OpenSSL takes down what a thread of librdkafka may need that moment to greet a broker: one such end in some tens
    was a SIGSEGV. A client that is asked in a thread has no end that could be waited for.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def end_now(code: ExitCode, why: str) -> NoReturn:
    """End the process from any thread, without waiting for anything that could hang.

    Not for the log either: a loop that is held because nobody reads its output holds the log's lock as well.
    """
    telling = threading.Thread(target=_tell, args=(code, why), daemon=True)
    telling.start()
    telling.join(TELL_SECONDS)
    os._exit(code)


def _tell(code: ExitCode, why: str) -> None:
    log.critical(
        "%s\nThe process ends with exit code %d; its tasks go on elsewhere, or when it is started again", why, code
    )
    logging.shutdown()


def main_stack() -> str:
    """What the main thread, and thereby the event loop, is doing: innermost call last."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    stack = traceback.format_stack(frame, limit=STACK_DEPTH) if frame is not None else ["(the main thread is gone)\n"]
    return "".join(stack)


def waits_of(loop: asyncio.AbstractEventLoop) -> str:
    """Where each task of a loop waits: one line each, those of one place together."""
    places = Counter(_innermost(task.get_coro()) for task in asyncio.all_tasks(loop))
    return "".join(f"  {place}{f' ({count} times)' if count > 1 else ''}\n" for place, count in places.most_common())


def _innermost(coroutine: Any) -> str:
    chain = [coroutine]
    while inspect.iscoroutine(awaited := getattr(chain[-1], "cr_await", None)):
        chain.append(awaited)
    names = " > ".join(one.__qualname__ for one in chain[-NAMED:])
    frame = getattr(chain[-1], "cr_frame", None)
    return f"{names}, line {frame.f_lineno} of {frame.f_code.co_filename}" if frame is not None else names
