"""Processes that outlive the command that started them, found again by pid *and* start time.

A pid alone may belong to somebody else by now; no process is ever signalled unless its start time and command
line are the recorded ones.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import psutil

from app.base.addresses import LOOPBACK
from app.base.services.errors import PortInUse, StartFailed
from app.base.setting_groups import variable

KEEPER = Path(__file__).with_name("keeper.py")
POLL_SECONDS = 0.1
CLOCK_STEP_SECONDS = 5.0
"""psutil derives start times from the wall clock, which may be set while a service runs."""
TAIL_LINES = 20


@dataclass(frozen=True)
class Daemon:
    """What to run, and where it leaves its traces."""

    name: str
    command: tuple[str, ...]
    log: Path
    pid_file: Path
    ports: Mapping[str, int]
    """Field of ServicesSettings to the port that is set there."""


@dataclass(frozen=True)
class Deaths:
    """How often a process ended before it was told to."""

    restarts: int
    """So often it was started again."""
    at: float
    """When it last ended, in seconds since 1970."""
    code: int
    """With what; -9 is KILL."""
    is_kept: bool
    """Whether it runs, or will be started again."""


def start(
    daemon: Daemon, stop_timeout_seconds: float, owner_fd: int | None = None, restarts: int = 0
) -> psutil.Process:
    """Start it, with its own session, log and pid file. With ``owner_fd`` it dies when that pipe closes.

    If it dies it is started again, ``restarts`` times in a row. The log of the run before is kept beside the new one.
    Raises PortInUse, StartFailed.
    """
    check_ports(daemon.ports)
    for path in (daemon.log, daemon.pid_file):
        path.parent.mkdir(parents=True, exist_ok=True)
    if daemon.log.exists():
        daemon.log.replace(daemon.log.with_suffix(".log.1"))
    fds = () if owner_fd is None else (owner_fd,)
    numbers = (str(stop_timeout_seconds), str(restarts))
    arguments = [str(fds[0] if fds else -1), str(daemon.pid_file), *numbers, *daemon.command]
    with daemon.log.open("wb") as log:
        keeper = subprocess.run(
            [sys.executable, "-I", str(KEEPER), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=fds,
            start_new_session=True,
            check=False,
        )
    process = find(daemon.pid_file)
    if keeper.returncode or process is None:
        raise StartFailed(f"{daemon.name} did not start. {tail(daemon.log)}")
    return process


def release(write_fd: int, count: int) -> None:
    """Let ``count`` daemons outlive their owner: ``write_fd`` is the other end of the pipe they were started with."""
    os.write(write_fd, b"r" * count)


def find(pid_file: Path) -> psutil.Process | None:
    """The running process that the file records; None if there is no file, or its process is gone (stale)."""
    record = _read(pid_file)
    return _alive(record["pid"], record["started"], record["command"]) if record else None


def stop(pid_file: Path, timeout_seconds: float) -> bool:
    """TERM, and KILL after the time; waits until it is gone, and forgets it. False if nothing ran.

    It is its keeper that is told, who would start it again; the process itself where that is gone.
    """
    first = _keeper(pid_file) or find(pid_file)
    if first is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            first.terminate()
        psutil.wait_procs([first], timeout_seconds)
    if process := find(pid_file):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
        process.wait(timeout_seconds)
    forget(pid_file)
    return first is not None


def deaths(pid_file: Path) -> Deaths | None:
    """What its keeper has recorded of the ends that nobody asked for; None if there was none."""
    record = _read(pid_file)
    if not record or record.get("died_at") is None:
        return None
    told = (int(str(record["restarts"])), float(str(record["died_at"])), int(str(record["died_with"])))
    return Deaths(*told, is_kept=_keeper(pid_file) is not None)


def forget(pid_file: Path) -> None:
    """Remove the record of a process that is gone, once its keeper cannot write or remove one any more."""
    if _read(pid_file):
        if keeper := _keeper(pid_file):
            keeper.wait(10)
        pid_file.unlink(missing_ok=True)


def await_answer(daemon: Daemon, process: psutil.Process, answers: Callable[[], bool], deadline: float) -> None:
    """Ask until the service answers; ``deadline`` in monotonic seconds. Raises StartFailed."""
    while not answers():
        if monotonic() > deadline:
            raise StartFailed(
                f"{daemon.name} (pid {process.pid}) did not answer in time; a slow machine needs a larger "
                f"{variable('services_start_timeout_seconds')}. {tail(daemon.log)}"
            )
        if not _wait_briefly(process):
            raise StartFailed(f"{daemon.name} ended while it started. {tail(daemon.log)}")


def check_ports(ports: Mapping[str, int]) -> None:
    """Raises PortInUse for the first port that is taken, naming who has it and which variable changes
    ours."""
    for field, port in ports.items():
        if port_is_free(port):
            continue
        raise PortInUse(
            f"Port {port} is in use by {_holder(port)}. End it, or choose another port with "
            f"{variable('services_' + field)}."
        )


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def tail(log: Path) -> str:
    """The end of a log, introduced by its path."""
    if not log.exists():
        return f"There is no log at {log}."
    with log.open(errors="replace") as lines:
        last = deque(lines, TAIL_LINES)
    return f"The end of {log}:\n" + "".join(f"  {line}" for line in last)


def _wait_briefly(process: psutil.Process) -> bool:
    """Whether it still runs after a moment."""
    try:
        process.wait(POLL_SECONDS)
    except psutil.TimeoutExpired:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _holder(port: int) -> str:
    try:
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
            if listens and connection.pid:
                command = " ".join(psutil.Process(connection.pid).cmdline())
                short = command if len(command) < 120 else f"{command[:20]} … {command[-90:]}"
                return f"pid {connection.pid} ({short})"
    except psutil.Error:
        pass
    return "a process that this user cannot see"


def _keeper(pid_file: Path) -> psutil.Process | None:
    """Who would start it again, and removes the record when it is stopped."""
    record = _read(pid_file)
    return _alive(record.get("keeper"), record.get("keeper_started"), None) if record else None


def _read(pid_file: Path) -> dict[str, object] | None:
    try:
        record = json.loads(pid_file.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def _alive(pid: object, started: object, command: Sequence[str] | object | None) -> psutil.Process | None:
    try:
        process = psutil.Process(int(str(pid)))
        same = abs(process.create_time() - float(str(started))) < CLOCK_STEP_SECONDS
        same = same and process.status() != psutil.STATUS_ZOMBIE
        return process if same and command in (None, process.cmdline()) else None
    except (psutil.Error, ValueError):
        return None
