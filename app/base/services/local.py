"""Kafka, the registry and Kafka Connect on this machine: start, find, stop.

Everything of one set stands below ``settings.data_dir``; two sets differ in that directory and in their
ports. A service whose address was set to somewhere else is not started: that cluster is used as it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Literal

import psutil

from app.base.services import connect, kafka, processes, registry
from app.base.services.errors import StartFailed
from app.base.services.processes import Daemon
from app.base.services.service import Service
from app.base.settings import Settings

Tell = Callable[[str], None]
State = Literal["running", "silent", "stopped", "restarting", "stale", "elsewhere"]
BASIC: tuple[Service, ...] = (kafka, registry)
ON_DEMAND: tuple[Service, ...] = (connect,)
"""Started where somebody asks for it."""
SERVICES: dict[str, Service] = {service.NAME: service for service in (*BASIC, *ON_DEMAND)}
"""In the order in which they start."""
RESTARTS = 5
"""In a row, within 15 seconds: a service that was killed is back with the first, one that cannot start says why."""


@dataclass(frozen=True)
class ServiceStatus:
    """What is known of one service without starting anything."""

    name: str
    state: State
    """silent: its process runs and does not answer; restarting: it died and will be started; stale: it ended without
    `down`, and nobody starts it; elsewhere: not ours to run, whatever runs here."""
    address: str
    pid: int | None
    log: Path
    restarts: int = 0
    """How often its keeper has started it again since `up`."""
    died_at: str | None = None
    """When it last ended by itself, ISO 8601."""
    what_to_do: str | None = None
    """A sentence; None where nothing is to be done."""

    @property
    def deaths(self) -> str | None:
        """What happened to it since `up`, in words; None if nothing did."""
        if self.died_at is None:
            return None
        times = "once" if self.restarts == 1 else f"{self.restarts} times"
        return f"ended by itself at {self.died_at}; started again {times} since `flagfall services up`"


def up(
    settings: Settings,
    tell: Tell = lambda text: None,
    owner_fd: int | None = None,
    *,
    wanted: Collection[str] = (),
) -> list[str]:
    """Start what does not run and wait until it answers; returns the names of what was started, [] if all
    ran.

    ``owner_fd``: see :func:`supervised`. ``wanted``: which of those on demand. What was started here is stopped again
    when something fails. Raises ServicesError.
    """
    begun: list[tuple[Daemon, Service]] = []
    with _only_one(settings.data_dir):
        try:
            for service in (*BASIC, *(one for one in ON_DEMAND if one.NAME in wanted)):
                if service.is_here(settings) and _must_start(settings, service.NAME, tell):
                    daemon = service.daemon(settings)
                    begun.append((daemon, service))
                    process = processes.start(daemon, settings.services.stop_timeout_seconds, owner_fd, RESTARTS)
                    tell(f"{service.NAME}: started, pid {process.pid}, log {daemon.log}")
            deadline = monotonic() + settings.services.start_timeout_seconds  # jars were fetched before
            for daemon, service in begun:
                started = processes.find(daemon.pid_file)
                if started is None:
                    raise StartFailed(f"{daemon.name} ended while it started. {processes.tail(daemon.log)}")
                processes.await_answer(daemon, started, partial(service.answers, settings), deadline)
                service.prepare(settings)
                tell(f"{daemon.name}: answers at {service.address(settings)}")
        except BaseException:
            for daemon, _ in begun:
                processes.stop(daemon.pid_file, settings.services.stop_timeout_seconds)
            raise
    return [daemon.name for daemon, _ in begun]


def down(settings: Settings, names: Collection[str] = tuple(SERVICES), tell: Tell = lambda text: None) -> list[str]:
    """Stop what runs (TERM, later KILL), the last first; returns the names of what was stopped. Data
    stays."""
    stopped = []
    with _only_one(settings.data_dir):
        for name in reversed(SERVICES):
            if name in names and processes.stop(_pid_file(settings, name), settings.services.stop_timeout_seconds):
                tell(f"{name}: stopped")
                stopped.append(name)
    return stopped


def status(settings: Settings) -> list[ServiceStatus]:
    """Each service as it is now, of those on demand what was started; asks those that run."""
    started = [one for one in ON_DEMAND if _pid_file(settings, one.NAME).exists()]
    return [_status(settings, service) for service in (*BASIC, *started)]


@contextlib.contextmanager
def supervised(
    settings: Settings, tell: Tell = lambda text: None, *, wanted: Collection[str] = ()
) -> Iterator[list[str]]:
    """Services for the time of a block, and never longer than this process, even if it is killed.

    `wanted`: which of those on demand. Yields the names of what was started; what ran before is used, and left
    running. A process that is forked off without an exec shares this one's life: while such a child lives, the
    services do.
    """
    read_fd, write_fd = os.pipe()
    try:
        started = up(settings, tell, read_fd, wanted=wanted)
        try:
            yield started
        finally:
            down(settings, started, tell)
    finally:
        os.close(read_fd)
        os.close(write_fd)


def _must_start(settings: Settings, name: str, tell: Tell) -> bool:
    pid_file = _pid_file(settings, name)
    if process := processes.find(pid_file):
        tell(f"{name}: runs already, pid {process.pid}")
        return False
    if pid_file.exists():
        tell(f"{name}: ended without `flagfall services down` (machine off, or killed); starting it again")
        processes.stop(pid_file, settings.services.stop_timeout_seconds)
    return True


def _status(settings: Settings, service: Service) -> ServiceStatus:
    pid_file = _pid_file(settings, service.NAME)
    process = processes.find(pid_file)
    died = processes.deaths(pid_file)
    state: State
    if not service.is_here(settings):
        state = "elsewhere"
    elif process is not None:
        state = "running" if service.answers(settings) else "silent"
    elif died is not None and died.is_kept:
        state = "restarting"
    else:
        state = "stale" if pid_file.exists() else "stopped"
    log = settings.data_dir / "logs" / f"{service.NAME}.log"
    return ServiceStatus(
        service.NAME,
        state,
        service.address(settings),
        process.pid if process else None,
        log,
        died.restarts if died else 0,
        datetime.fromtimestamp(died.at, UTC).isoformat(timespec="seconds") if died else None,
        _what_to_do(service, state, log, process),
    )


def _what_to_do(service: Service, state: State, log: Path, process: psutil.Process | None) -> str | None:
    start = f"`flagfall services up{f' --with {service.NAME}' if service in ON_DEMAND else ''}`"
    if state == "elsewhere" and process is not None:
        return f"One that is not set runs here, pid {process.pid}; `flagfall services down` stops it."
    return {
        "silent": f"Read {log}; `flagfall services down`, then {start} start it anew.",
        "restarting": f"Wait a moment; if it ends again and again, {log} says why.",
        "stale": f"It ended without `flagfall services down`. Read {log}; {start} starts it again.",
        "stopped": f"{start} starts it.",
    }.get(state)


def _pid_file(settings: Settings, name: str) -> Path:
    return settings.data_dir / f"{name}.pid.json"


@contextlib.contextmanager
def _only_one(data_dir: Path) -> Iterator[None]:
    """Two commands at once on one directory: the second waits, then finds what the first did."""
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
