"""The stages in their order, and how one is run: output shown and kept, limits kept, time taken."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.gate.parent import ends_with_parent
from scripts.gate.screen import show

STOP_SECONDS = 30.0
LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Stage:
    """One command of the gate. `attempts`: for what asks the network; `limit_seconds`: only a hang takes so long."""

    name: str
    exit_code: int
    """The gate's own, if this stage is the one that is red."""
    command: tuple[str, ...]
    limit_seconds: float = 1_200.0
    attempts: int = 1
    asks_outside: bool = False
    """Whether it gets the proxies of the environment."""


SETUP = Stage("setup", 10, ("make", "setup"), limit_seconds=1_800.0, asks_outside=True)
LINT = Stage("lint", 11, ("make", "lint"))
TYPES = Stage("types", 12, ("make", "types"))
IMPORTS = Stage("imports", 13, ("make", "imports"))
COLLECTION = Stage("collection", 15, ("make", "collection"))
"""What a test cannot import is told within a minute, not after the first lane has ended."""
JARS = Stage("jars", 14, ("make", "jars"), attempts=3, asks_outside=True)
BEFORE_TESTS = (SETUP, LINT, TYPES, IMPORTS, COLLECTION, JARS)
TESTS_EXIT_CODE = 20
"""A test failed that must not."""
TESTS_LIMIT_SECONDS = 2_700.0
"""Of all tests, for each unit of patience."""


@dataclass(frozen=True)
class Ran:
    """What came of a stage."""

    name: str
    code: int
    """The command's; negative: ended by that signal, as its limit was reached or somebody stopped it."""
    wall_seconds: float
    processor_seconds: float
    """Of the command and its descendants, as far as they were waited for."""
    left_running: tuple[str, ...] = ()
    """Processes that the command's end should have been the end of; the gate has ended them."""


def run(stage: Stage, folder: Path, environment: Mapping[str, str] | None = None) -> Ran:
    """The stage's command, tried as often as it may be; its output goes to the screen and to `folder/<name>.log`."""
    began, used = time.monotonic(), _processor_seconds()
    log = folder / f"{stage.name}.log"
    log.write_bytes(b"")
    for _ in range(stage.attempts):
        code = _run(stage.command, time.monotonic() + stage.limit_seconds, log, environment)
        if code == 0:
            break
    return Ran(stage.name, code, round(time.monotonic() - began, 1), round(_processor_seconds() - used, 1))


def _run(command: Sequence[str], deadline: float, log: Path, environment: Mapping[str, str] | None) -> int:
    """Through a file, not a pipe: what the command leaves running would hold a pipe open, and us with it."""
    with log.open("ab") as kept, log.open("rb") as shown:
        shown.seek(0, os.SEEK_END)
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=kept,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=ends_with_parent(signal.SIGTERM),  # noqa: PLW1509 - the gate has one thread
        )
        try:
            while process.poll() is None:
                if time.monotonic() > deadline:
                    _end(process)
                time.sleep(LOOK_SECONDS)
                show(shown.read())
        except BaseException:
            _end(process)
            raise
        show(shown.read())
    return process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    """TERM for the command and its children, KILL for what does not heed it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(STOP_SECONDS)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
