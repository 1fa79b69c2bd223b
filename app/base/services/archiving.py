"""The class archives of Kafka and the registry, each made by one start alone and apart."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import monotonic
from types import ModuleType

from app.base.addresses import LOOPBACK
from app.base.services import kafka, processes, registry
from app.base.settings import Settings

MOST_SECONDS = 120.0
"""For Java to write an archive as it ends; it takes two, and ten on a busy machine."""


def archive_services(settings: Settings, tell: Callable[[str], None] = lambda text: None) -> None:
    """Make what is missing. Their own ports and data: what runs here is left alone. Raises ServicesError.

    What is started ends with this process, however that ends, and as soon as the wait for it is cut short.
    """
    read_fd, write_fd = os.pipe()
    with ExitStack() as ends:
        ends.callback(os.close, read_fd)
        pool = ends.enter_context(ThreadPoolExecutor())
        ends.callback(os.close, write_fd)  # before the pool waits for what it waits for
        list(pool.map(lambda module: _archive(module, settings, read_fd, tell), (kafka, registry)))


def _archive(module: ModuleType, settings: Settings, owner_fd: int, tell: Callable[[str], None]) -> None:
    archive = module.class_archive(settings)
    if archive.path.exists():
        return
    tell(f"{module.NAME}: starting it once for its classes")
    with ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="flagfall-"))
        option = ends.enter_context(archive.made())
        apart = _apart(settings, Path(folder))
        daemon = module.daemon(apart)
        java, *arguments = daemon.command
        process = processes.start(replace(daemon, command=(java, option, *arguments)), MOST_SECONDS, owner_fd)
        ends.callback(processes.stop, daemon.pid_file, MOST_SECONDS)
        deadline = monotonic() + settings.services.start_timeout_seconds
        processes.await_answer(daemon, process, lambda: module.answers(apart), deadline)


def _apart(settings: Settings, folder: Path) -> Settings:
    with ExitStack() as held:
        bound = [held.enter_context(socket.create_server((LOOPBACK, 0))) for _ in range(3)]
        numbers = [one.getsockname()[1] for one in bound]
    names = ("kafka_port", "kafka_controller_port", "registry_port")
    ports = dict(zip(names, numbers, strict=True)) | {"sasl_port": None}
    return settings.model_copy(update={"data_dir": folder, "services": settings.services.model_copy(update=ports)})
