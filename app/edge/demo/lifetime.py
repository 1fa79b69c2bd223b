"""Nothing outlives the command that started it, however that ends."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

PARENT_POLL_SECONDS = 0.5
TERMINATED = 128 + signal.SIGTERM


@contextlib.contextmanager
def owned() -> Iterator[int]:
    """The reading end of a pipe that closes when this process ends, by KILL too: `owner_fd` of what is started."""
    read_fd, write_fd = os.pipe()
    try:
        yield read_fd
    finally:
        os.close(read_fd)
        os.close(write_fd)


def unwind_on_term() -> None:
    """Let TERM and HUP run the `finally` blocks, as INT does."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)


def die_with_parent() -> None:
    """TERM to this process once its parent is gone: a killed `make` leaves no demo behind."""
    parent = os.getppid()

    def watch() -> None:
        never = threading.Event()
        while os.getppid() == parent:
            never.wait(PARENT_POLL_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()
