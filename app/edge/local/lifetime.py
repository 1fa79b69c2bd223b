"""Nothing outlives the command that started it, however that ends."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from app.base.services import processes

PARENT_POLL_SECONDS = 0.5


@contextlib.contextmanager
def owned() -> Iterator[int]:
    """The reading end of a pipe that closes when this process ends, by KILL too: `owner_fd` of what is started."""
    with owned_until_released() as (read_fd, _):
        yield read_fd


@contextlib.contextmanager
def owned_until_released() -> Iterator[tuple[int, Callable[[int], None]]]:
    """The same, with a function that lets so many of the started processes stay after all."""
    read_fd, write_fd = os.pipe()
    try:
        yield read_fd, lambda count: processes.release(write_fd, count)
    finally:
        os.close(read_fd)
        os.close(write_fd)


def unwind_on_term() -> None:
    """Let TERM and HUP run the `finally` blocks, as INT does, and say that they came.

    The first one counts. Another, as of a parent that is told to end too, would break off what these blocks do; and
    Python 3.11 takes a thread whose `join` was broken off for one that has ended, and ends it where it is.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        _hear(lambda *_: None)  # not SIG_IGN, which programs that are started from now on would inherit
        os.write(2, f"told to end ({signal.Signals(number).name})\n".encode())  # a stream may be amid a write
        raise SystemExit(128 + number)

    _hear(leave)


def _hear(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, handler)


def die_with_parent() -> None:
    """TERM to this process once its parent is gone: a killed `make` leaves no demo behind."""
    parent = os.getppid()

    def watch() -> None:
        never = threading.Event()
        while os.getppid() == parent:
            never.wait(PARENT_POLL_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()
