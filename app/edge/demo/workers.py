"""Workers as local processes, kept like the services: own session, own log, found again by pid and start time."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from app.base.services import processes
from app.base.services.errors import PortInUse, StartFailed
from app.base.services.processes import Daemon
from app.base.settings import Settings
from app.edge.demo.ask import Worker

COUNT = 2
STOP_SECONDS = 20.0
READY_SECONDS = 90.0


def worker_ports(settings: Settings, count: int = COUNT) -> list[int]:
    """The configured port, and for each further worker the next one that is free."""
    ports = [settings.worker.http_port]
    candidate = ports[0]
    while len(ports) < count:
        candidate += 1
        if processes.port_is_free(candidate):
            ports.append(candidate)
    return ports


def start_workers(settings: Settings, ports: Sequence[int], owner_fd: int | None = None) -> list[Worker]:
    """Start one worker a port; those that run already are left alone. Does not wait until they answer.

    They read the settings from this process's environment. Raises PortInUse, StartFailed.
    """
    os.environ.update(settings.environment())
    started = []
    for number, port in enumerate(ports, 1):
        daemon = _daemon(settings, number, port)
        if processes.find(daemon.pid_file) is None:
            if not processes.port_is_free(port):
                raise PortInUse(f"Port {port} is in use; choose another one with FLAGFALL_WORKER_HTTP_PORT.")
            processes.start(daemon, STOP_SECONDS, owner_fd)
        started.append(Worker(f"http://{settings.worker.http_host}:{port}", daemon.log, daemon.pid_file))
    return started


def await_ready(workers: Sequence[Worker]) -> None:
    """Wait until every worker answers queries. Raises StartFailed with the log's end."""
    deadline = monotonic() + READY_SECONDS
    for worker in workers:
        while not worker.is_ready():
            if processes.find(worker.pid_file) is None:
                raise StartFailed(f"the worker at {worker.url} ended. {processes.tail(worker.log)}")
            if monotonic() > deadline:
                raise StartFailed(f"the worker at {worker.url} is not ready in time. {processes.tail(worker.log)}")


def stop_workers(settings: Settings) -> list[str]:
    """Stop every worker that was started from the data directory; returns their names."""
    pid_files = sorted(settings.data_dir.glob("worker-*.pid.json"))
    return [one.name.removesuffix(".pid.json") for one in pid_files if processes.stop(one, STOP_SECONDS)]


def _daemon(settings: Settings, number: int, port: int) -> Daemon:
    name = f"worker-{number}"
    command = (sys.executable, "-m", "app.edge.cli.main", "worker", "--http-port", str(port))
    return Daemon(name, command, _log(settings, name), settings.data_dir / f"{name}.pid.json", {})


def _log(settings: Settings, name: str) -> Path:
    return settings.data_dir / "logs" / f"{name}.log"
