"""Workers as local processes, kept like the services: own session, own log, found again by pid and start time."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

from app.base.services import processes
from app.base.services.errors import PortInUse, StartFailed
from app.base.services.processes import Daemon
from app.base.setting_groups import variable
from app.base.settings import Settings
from app.base.worker_door import door_of
from app.edge.local.ask import Worker

COUNT = 2
STOP_SECONDS = 20.0
READY_SECONDS = 90.0


def start_workers(settings: Settings, owner_fd: int | None = None, count: int = COUNT) -> list[Worker]:
    """Start workers, those that run already are left alone. Does not wait until they answer.

    The first takes the configured port, the others the next free ones. They read the settings from this process's
    environment. Raises PortInUse, StartFailed.
    """
    os.environ.update(settings.environment())
    workers: list[Worker] = []
    port = settings.worker.http_port
    for number in range(1, count + 1):
        worker = _running(settings, number) or _start(settings, number, port, owner_fd)
        workers.append(worker)
        port = next(p for p in itertools.count((urlsplit(worker.url).port or port) + 1) if processes.port_is_free(p))
    return workers


def running_workers(settings: Settings) -> set[Path]:
    """The pid files of the workers that run from the data directory."""
    return {file for file in settings.data_dir.glob("worker-*.pid.json") if processes.find(file) is not None}


def await_ready(workers: Sequence[Worker]) -> None:
    """Wait until every worker answers queries. Raises StartFailed with the log's end."""
    deadline = monotonic() + READY_SECONDS
    for worker in workers:
        while not worker.is_ready():
            if processes.find(worker.pid_file) is None:
                raise StartFailed(f"the worker at {worker.url} ended. {processes.tail(worker.log)}")
            if monotonic() > deadline:
                raise StartFailed(f"the worker at {worker.url} is not ready in time. {processes.tail(worker.log)}")


def stop_workers(settings: Settings, keep: Collection[Path] = ()) -> list[str]:
    """Stop the workers that were started from the data directory but for some pid files; returns their names."""
    pid_files = sorted(file for file in settings.data_dir.glob("worker-*.pid.json") if file not in keep)
    return [file.name.removesuffix(".pid.json") for file in pid_files if processes.stop(file, STOP_SECONDS)]


def _running(settings: Settings, number: int) -> Worker | None:
    process = processes.find(_pid_file(settings, number))
    if process is None:
        return None
    *_, port = process.cmdline()
    return _worker(settings, number, int(port))


def _start(settings: Settings, number: int, port: int, owner_fd: int | None) -> Worker:
    if not processes.port_is_free(port):
        raise PortInUse(f"Port {port} is in use; choose another one for the workers with FLAGFALL_WORKER_HTTP_PORT.")
    worker = _worker(settings, number, port)
    command = (sys.executable, "-m", "app.edge.cli.main", "worker", "--http-port", str(port))
    if port != settings.worker.http_port:
        os.environ[variable("worker_advertised_url")] = worker.url  # what is set, if anything, is the first one's
    daemon = Daemon(f"worker-{number}", command, worker.log, worker.pid_file, {})
    processes.start(daemon, STOP_SECONDS, owner_fd)
    return worker


def _worker(settings: Settings, number: int, port: int) -> Worker:
    log = settings.data_dir / "logs" / f"worker-{number}.log"
    own = settings.model_copy(update={"worker": settings.worker.model_copy(update={"http_port": port})})
    return Worker(door_of(own), log, _pid_file(settings, number))


def _pid_file(settings: Settings, number: int) -> Path:
    return settings.data_dir / f"worker-{number}.pid.json"
