"""What one process at a time may work with: a lock on a file, which the system takes back when its holder dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class HeldElsewhere(RuntimeError):
    """Another process, or another part of this one, holds it."""


@contextmanager
def held_alone(lock: Path) -> Iterator[None]:
    """Hold the lock file, made with its folders, for the time of the block. HeldElsewhere at once if another does."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise HeldElsewhere(str(lock)) from error
        yield
