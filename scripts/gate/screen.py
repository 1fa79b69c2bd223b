"""What the gate shows. No verdict hangs on it: a screen that is full or closed, or that nobody reads, shows nothing."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def say(*lines: str) -> None:
    """These lines."""
    show("".join(f"{line}\n" for line in lines).encode())


def show(said: bytes) -> None:
    """As it is, and past Python's buffer: what that could not write it would try again at the end, and fail again."""
    if sys.stdout is None:  # closed from the beginning: its number may be another file's by now
        return
    with suppress(OSError):
        screen = sys.stdout.fileno()
        while said:
            said = said[os.write(screen, said) :]
