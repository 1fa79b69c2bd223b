"""A gate as a process in a checkout of its own, in which pytest's part is played by a program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from tests.support.machine.waiting import patient, wait_for

CHECKOUT = Path(__file__).parents[2]
COLLECTED = {"event": "collected", "tests": 2}
PLAYED = """\
import json, pathlib, signal, subprocess, sys, tempfile, time
told = next(a.removeprefix("--told=") for a in sys.argv if a.startswith("--told="))
base = next(a.removeprefix("--basetemp=") for a in sys.argv if a.startswith("--basetemp="))
script = json.loads(pathlib.Path("script.json").read_text())[pathlib.Path(told).stem]
pathlib.Path(base).mkdir(parents=True)
(pathlib.Path(base) / "worker.log").write_text("a worker's last words")
(pathlib.Path(tempfile.mkdtemp()) / "left").write_text("behind")
left = [subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(script.get("leaves", 0))]
for process in left[1:]:
    process.send_signal(signal.SIGSTOP)
pathlib.Path("left.json").write_text(json.dumps({"pids": [p.pid for p in left], "folder": tempfile.gettempdir()}))
pathlib.Path(told).write_text("".join(json.dumps(event) + "\\n" for event in script["told"]) + script.get("torn", ""))
print(script.get("says", ""), flush=True)
time.sleep(script["seconds"])
sys.exit(script["code"])
"""


class Gate:
    """A checkout with the gate in it, whose pytest does what a script says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(CHECKOUT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        program = folder / ".venv" / "bin" / "pytest"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!{sys.executable}\n{PLAYED}")
        program.chmod(0o755)
        self.started: list[subprocess.Popen[str]] = []

    def plays(
        self,
        *told: dict[str, object],
        code: int,
        again: tuple[list[dict[str, object]], int] = ([], 0),
        leaves: int = 0,
        torn: str = "",
        says: str = "",
    ) -> None:
        """`leaves`: processes in sessions of their own, stopped but for the first, that pytest does not end.

        `torn`: the end of what it tells. `says`: what it prints.
        """
        first = {"told": told, "code": code, "seconds": 0, "leaves": leaves, "torn": torn, "says": says}
        self._write({"tests": first, "tests-again": {"told": again[0], "code": again[1], "seconds": 0}})

    def plays_for_long(self) -> None:
        told = [COLLECTED, {"test": "t::other", "event": "began"}]
        self._write({"tests": {"told": told, "code": 0, "seconds": 600, "leaves": 2}})

    def start(self, **variables: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "scripts.gate", "tests"]
        began = subprocess.Popen(
            command,
            cwd=self.folder,
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(began)
        return began

    def run(self, **variables: str) -> tuple[int, str]:
        process = self.start(**variables)
        said, _ = process.communicate(timeout=patient(60))
        return process.returncode, said

    def wait_for_tests(self) -> psutil.Process:
        """Until its pytest has told something; that process."""
        told = self.folder / "build" / "ci" / "tests.jsonl"
        wait_for(lambda: told.exists() and bool(told.read_text()), "the tests have begun", seconds=30)
        children = psutil.Process(self.started[-1].pid).children()
        (child,) = (one for one in children if any("--told=" in word for word in one.cmdline()))
        return child

    def wait_until_nothing_is_left(self) -> None:
        """Of the last run: no process that its pytest has started, no file that it has made elsewhere."""
        left = json.loads((self.folder / "left.json").read_text())
        wait_for(lambda: not any(map(_runs, left["pids"])), f"nothing runs of {left['pids']}", seconds=30)
        wait_for(lambda: not Path(left["folder"]).exists(), f"{left['folder']} is gone", seconds=30)

    def kept(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "build" / "ci" / "gate.json").read_text())
        return found

    def _write(self, script: object) -> None:
        (self.folder / "script.json").write_text(json.dumps(script))


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
