"""The commands of the README as somebody types them who has just cloned the project."""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.machine.ports import free_ports
from tests.support.machine.waiting import NotInTime, patient

CHECKOUT = Path(__file__).parents[3]
README = (CHECKOUT / "README.md").read_text("utf-8")
COMMAND_SECONDS = 400.0
PORTS = ("SERVICES_KAFKA_PORT", "SERVICES_KAFKA_CONTROLLER_PORT", "SERVICES_REGISTRY_PORT", "WORKER_HTTP_PORT")
DONE = "@@done"


def block(heading: str) -> list[str]:
    """The commands of the first block below a heading; what stands behind two spaces explains them."""
    below = README.split(f"\n## {heading}\n", 1)[1]
    lines = below.split("```\n", 2)[1].splitlines()
    return [re.split(r"\s{2,}", line.strip(), maxsplit=1)[0] for line in lines]


def copy_checkout(folder: Path) -> Path:
    """What a clone of the checkout as it is now would hold, in a directory whose name has a space."""
    clone = folder / "a clone"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, clone / name)
    return clone


def newcomer_environment(folder: Path) -> dict[str, str]:
    """Nothing set but ports that nobody else takes, and a home for what is kept by default."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("FLAGFALL_")}
    ports = {f"FLAGFALL_{name}": str(port) for name, port in zip(PORTS, free_ports(len(PORTS)), strict=True)}
    cache = {name: value for name, value in os.environ.items() if name == "FLAGFALL_CACHE_DIR"}
    return ours | ports | cache | {"XDG_STATE_HOME": str(folder / "state")}


class Shell:
    """A bash with job control, in which commands are typed one after the other."""

    def __init__(self, folder: Path, environment: dict[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                ["bash", "-m"],
                cwd=folder,
                env=environment | {"PATH": f"{folder / '.venv/bin'}:{environment['PATH']}"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
                text=True,
            )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def type(self, command: str) -> str:
        """What the command prints. NotInTime if it does not end, AssertionError unless it ends well."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\necho {DONE} $?\n")
        self._process.stdin.flush()
        said: list[str] = []
        for line in self._lines_until(time.monotonic() + patient(COMMAND_SECONDS), command, said):
            if line.startswith(DONE):
                assert line.split()[1] == "0", f"{command} ended with {line.split()[1]}\n{self._told(said)}"
                return "".join(said)
            said.append(line)
        raise AssertionError(f"{command} ended the shell\n{self._told(said)}")

    def close(self) -> None:
        """Whatever still runs in it is ended, too."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        """What is printed, line by line, and None at its end."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _lines_until(self, deadline: float, command: str, said: list[str]) -> Iterator[str]:
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise NotInTime(f"{command} has not ended\n{self._told(said)}") from None
            if line is None:
                return
            yield line

    def _told(self, said: list[str]) -> str:
        return "".join(said[-40:]) + self.log.read_text()[-3000:]


def said_of(text: str) -> str:
    """The command of the README of which it says this."""
    (command,) = re.findall(rf"(make \w+) {re.escape(text)}", README)
    return str(command)


@contextmanager
def and_then(command: str, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """A command that is run after the block, however that ends; if both fail, the block's failure is the one told."""
    try:
        yield
    except BaseException as first:
        try:
            run_to_end(command, folder, environment)
        except AssertionError as second:
            first.add_note(f"after that, {second}")
        raise
    run_to_end(command, folder, environment)


def run_to_end(command: str, folder: Path, environment: dict[str, str]) -> str:
    """What a command prints. NotInTime if it does not end, AssertionError unless it ends well."""
    try:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=patient(COMMAND_SECONDS),
        )
    except subprocess.TimeoutExpired:
        raise NotInTime(f"{command} has not ended") from None
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout
