"""Real services for tests: own directory, own ports, gone with the test process even if that is killed."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from app.base.service_settings import ServicesSettings
from app.base.services import local
from app.base.setting_groups import WorkerSettings
from app.base.settings import Settings
from tests.support.machine.ports import free_ports
from tests.support.machine.waiting import patient
from tests.support.truth import cluster_of


def local_settings(tmp_dir: Path, *, sasl: bool = False, **overrides: Any) -> Settings:
    """Settings for services of a test's own; jars come from the user's cache."""
    kafka, controller, registry, worker, sasl_port, connect = free_ports(6)
    services = ServicesSettings(
        kafka_port=kafka,
        kafka_controller_port=controller,
        registry_port=registry,
        connect_port=connect,
        sasl_port=sasl_port if sasl else None,
        sasl_password=SecretStr('a "quoted" \\ password' if sasl else ""),
        start_timeout_seconds=patient(60),
        stop_timeout_seconds=patient(10),
    )
    fast = WorkerSettings(http_port=worker, session_timeout_seconds=patient(3), heartbeat_interval_seconds=0.5)
    return Settings.load(**{"data_dir": tmp_dir, "services": services, "worker": fast, **overrides})


@contextlib.contextmanager
def running_services(tmp_dir: Path, *, sasl: bool = False, **overrides: Any) -> Iterator[Settings]:
    """A broker and a registry that answer, with the settings that reach them."""
    settings = local_settings(tmp_dir, sasl=sasl, **overrides)
    with local.supervised(settings):
        try:
            yield settings
        finally:
            cluster_of.cache_clear()  # a client outlives its broker, and looks for it ten times a second


@contextlib.contextmanager
def frozen(settings: Settings, name: str) -> Iterator[None]:
    """A service that holds its connections and answers nobody."""
    (pid,) = [status.pid for status in local.status(settings) if status.name == name]
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
