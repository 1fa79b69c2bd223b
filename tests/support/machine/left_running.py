"""Processes that something has left running."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import psutil

from tests.support.machine.waiting import wait_for


def await_nothing_left(folder: Path) -> None:
    """Wait until no process has to do with the directory."""
    wait_for(lambda: not left(folder), f"nothing runs that has to do with {folder}; there were {left(folder)}")


class LeftRunning(NamedTuple):
    """A process as it was when it was looked for: it may have ended since."""

    pid: int
    name: str


def left(folder: Path) -> list[LeftRunning]:
    """Processes with the directory in their command line, or as the place of flagfall's data."""
    found = []
    for process in psutil.process_iter():
        try:
            told = " ".join(process.cmdline()) + process.environ().get("FLAGFALL_DATA_DIR", "")
            if str(folder) in told and process.status() != psutil.STATUS_ZOMBIE:
                found.append(LeftRunning(process.pid, process.name()))
        except psutil.Error:
            continue
    return found
