"""Kafka and the registry on this machine: start, find, stop.

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
from pathlib import Path
from time import monotonic
from typing import Literal

import psutil

from app.base.services import kafka, processes, registry
from app.base.services.errors import StartFailed
from app.base.services.processes import Daemon
from app.base.settings import Settings

Tell = Callable[[str], None]
State = Literal["running", "silent", "stopped", "restarting", "stale", "elsewhere"]
NAMES = (kafka.NAME, registry.NAME)
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


def up(settings: Settings, tell: Tell = lambda text: None, owner_fd: int | None = None) -> list[str]:
    """Start what does not run and wait until it answers; returns the names of what was started, [] if all
    ran.

    ``owner_fd``: see :func:`supervised`. What was started here is stopped again when something fails.
    Raises ServicesError.
    """
    begun: list[tuple[Daemon, Callable[[Settings], bool]]] = []
    with _only_one(settings.data_dir):
        try:
            for module in (kafka, registry):
                if _here(settings, module.NAME) and _must_start(settings, module.NAME, tell):
                    daemon = module.daemon(settings)
                    begun.append((daemon, module.answers))
                    process = processes.start(daemon, settings.services.stop_timeout_seconds, owner_fd, RESTARTS)
                    tell(f"{module.NAME}: started, pid {process.pid}, log {daemon.log}")
            deadline = monotonic() + settings.services.start_timeout_seconds  # jars were fetched before
            for daemon, answers in begun:
                started = processes.find(daemon.pid_file)
                if started is None:
                    raise StartFailed(f"{daemon.name} ended while it started. {processes.tail(daemon.log)}")
                processes.await_answer(daemon, started, lambda ask=answers: ask(settings), deadline)  # type: ignore[misc]
                _prepare(settings, daemon.name)
                tell(f"{daemon.name}: answers at {_address(settings, daemon.name)}")
        except BaseException:
            for daemon, _ in begun:
                processes.stop(daemon.pid_file, settings.services.stop_timeout_seconds)
            raise
    return [daemon.name for daemon, _ in begun]


def down(settings: Settings, names: Collection[str] = NAMES, tell: Tell = lambda text: None) -> list[str]:
    """Stop what runs (TERM, later KILL), the registry first; returns the names of what was stopped. Data
    stays."""
    stopped = []
    with _only_one(settings.data_dir):
        for name in reversed(NAMES):
            if name in names and processes.stop(_pid_file(settings, name), settings.services.stop_timeout_seconds):
                tell(f"{name}: stopped")
                stopped.append(name)
    return stopped


def status(settings: Settings) -> list[ServiceStatus]:
    """Each service as it is now; asks those that run."""
    return [_status(settings, module.NAME, module.answers) for module in (kafka, registry)]


def ports(settings: Settings, name: str) -> dict[str, int]:
    """The ports of one service, by the field of ServicesSettings that sets each."""
    return kafka.ports(settings.services) if name == kafka.NAME else registry.ports(settings.services)


def reachable(settings: Settings, name: str) -> bool:
    """Whether the service that is set answers, wherever it runs."""
    return kafka.reachable(settings.kafka) if name == kafka.NAME else registry.reachable(settings)


@contextlib.contextmanager
def supervised(settings: Settings, tell: Tell = lambda text: None) -> Iterator[list[str]]:
    """Services for the time of a block, and never longer than this process, even if it is killed.

    Yields the names of what was started; what ran before is used, and left running. A process that is forked
    off without an exec shares this one's life: while such a child lives, the services do.
    """
    read_fd, write_fd = os.pipe()
    try:
        started = up(settings, tell, read_fd)
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


def _prepare(settings: Settings, name: str) -> None:
    if name == registry.NAME:
        registry.set_compatibility(settings)
    elif settings.services.sasl_port is not None:
        kafka.add_scram_user(settings)


def _status(settings: Settings, name: str, answers: Callable[[Settings], bool]) -> ServiceStatus:
    pid_file = _pid_file(settings, name)
    process = processes.find(pid_file)
    died = processes.deaths(pid_file)
    state: State
    if not _here(settings, name):
        state = "elsewhere"
    elif process is not None:
        state = "running" if answers(settings) else "silent"
    elif died is not None and died.is_kept:
        state = "restarting"
    else:
        state = "stale" if pid_file.exists() else "stopped"
    log = settings.data_dir / "logs" / f"{name}.log"
    return ServiceStatus(
        name,
        state,
        _address(settings, name),
        process.pid if process else None,
        log,
        died.restarts if died else 0,
        datetime.fromtimestamp(died.at, UTC).isoformat(timespec="seconds") if died else None,
        _what_to_do(state, log, process),
    )


def _what_to_do(state: State, log: Path, process: psutil.Process | None) -> str | None:
    if state == "elsewhere" and process is not None:
        return f"One that is not set runs here, pid {process.pid}; `flagfall services down` stops it."
    return {
        "silent": f"Read {log}; `flagfall services down` and `up` start it anew.",
        "restarting": f"Wait a moment; if it ends again and again, {log} says why.",
        "stale": f"It ended without `flagfall services down`. Read {log}; `flagfall services up` starts it again.",
        "stopped": "`flagfall services up` starts it.",
    }.get(state)


def _here(settings: Settings, name: str) -> bool:
    if name == kafka.NAME:
        ours = {settings.services.kafka_port, settings.services.sasl_port}
        return settings.kafka.bootstrap_server in {
            f"{host}:{port}" for host in ("127.0.0.1", "localhost") for port in ours
        }
    return settings.registry_url == settings.local_registry


def _address(settings: Settings, name: str) -> str:
    return settings.kafka.bootstrap_server if name == kafka.NAME else settings.registry_url


def _pid_file(settings: Settings, name: str) -> Path:
    return settings.data_dir / f"{name}.pid.json"


@contextlib.contextmanager
def _only_one(data_dir: Path) -> Iterator[None]:
    """Two commands at once on one directory: the second waits, then finds what the first did."""
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
