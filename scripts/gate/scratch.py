"""The scratch folder of a run of tests: what the run leaves goes with it, files and processes, however it ended.

Tests start workers in sessions of their own, where no signal to a group reaches them; but whatever a run starts has
inherited where its temporary files go, and is known by that (on Linux, where others can see it).

    python3 -m scripts.gate.scratch FOLDER     clears the folder away once its standard input ends; the gate's own
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "flagfall-tests-"
TEMPORARY = "TMPDIR"
SETTLE_SECONDS = 3.0
"""For what ends by itself a moment after the tests: a Java's watcher, say."""
END_SECONDS = 10.0
LOOK_SECONDS = 0.05
BEGIN_SECONDS = 1.0
"""For what has just begun to show its environment; it takes microseconds."""
LONGEST_COMMAND = 120
PROCESSES = Path("/proc")
START_OF_CODE = 23
"""Where ``stat`` has the address of a process's program, counted from what follows its name; proc(5): field 26."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one run, cleared away by a process of its own: that outlives the gate if the gate is killed."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    with subprocess.Popen(
        (sys.executable, "-m", "scripts.gate.scratch", str(folder)),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ):
        yield folder


def environment_in(folder: Path) -> dict[str, str]:
    """What has a run, and all that it starts, keep temporary files in the folder."""
    temporary = folder / "tmp"
    temporary.mkdir()
    return {TEMPORARY: str(temporary)}


def settled(folder: Path) -> list[str]:
    """What still runs though the run is over, and does not end by itself."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (left := left_running(folder)) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    return left


def left_running(folder: Path) -> list[str]:
    """Processes that the folder's run has started: number and command."""
    return [f"{pid} {_command(pid)}" for pid in _started_in(folder)]


def end_all(folder: Path) -> None:
    """KILL, which those heed that are stopped, too; until none is left of them and of what they began meanwhile."""
    deadline = time.monotonic() + END_SECONDS
    while (pids := _started_in(folder)) and time.monotonic() < deadline:
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)


def _started_in(folder: Path) -> list[int]:
    inherited = f"\0{TEMPORARY}={folder}/".encode()
    found = []
    for process in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is somebody else's
            if inherited in b"\0" + _environment(process):
                found.append(int(process.name))
    return sorted(found)


def _environment(process: Path) -> bytes:
    """Its variables, as it was started with them; looked at again while it is only just beginning."""
    deadline = time.monotonic() + BEGIN_SECONDS
    while not (variables := (process / "environ").read_bytes()) and time.monotonic() < deadline:
        if _has_begun(process):
            return (process / "environ").read_bytes()
        time.sleep(LOOK_SECONDS)
    return variables


def _has_begun(process: Path) -> bool:
    """Whether its program is laid out in memory: not so for a moment amidst ``exec``, when whoever started it goes on
    already; variables are laid out just before. Kernel threads and the dead have no program (an OSError)."""
    (process / "exe").readlink()
    after_name = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return after_name[START_OF_CODE] != "0"


def _command(pid: int) -> str:
    with suppress(OSError):
        return (PROCESSES / f"{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()[:LONGEST_COMMAND]
    return ""


if __name__ == "__main__":
    sys.stdin.read()
    end_all(Path(sys.argv[1]))
    shutil.rmtree(sys.argv[1], ignore_errors=True)
