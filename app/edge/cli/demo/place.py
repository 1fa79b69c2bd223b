"""Where a demo runs: a directory of its own, emptied, and ports that nobody uses."""

from __future__ import annotations

import contextlib
import fcntl
import random
from collections.abc import Iterator
from pathlib import Path

from app.base.addresses import LOOPBACK
from app.base.files.own_directory import claim, empty
from app.base.service_settings import PORT_FIELDS
from app.base.services.processes import port_is_free
from app.base.settings import Settings
from app.domain.errors import FlagfallError

MARK = ".flagfall-demo"
"""A file in each directory that a demo has made or found empty; demos lock it."""
BELOW_EPHEMERAL = range(20_000, 32_000)
"""Ports that the kernel gives to no outgoing connection, so that nothing takes one between choice and use."""


class DemoRuns(FlagfallError):
    """Another demo uses the directory. Wait for it, or choose another with --data-dir."""


@contextlib.contextmanager
def own_place(data_dir: Path) -> Iterator[Settings]:
    """Settings of a fresh local cluster below `data_dir`; what a demo before left there is removed.

    The ports are the configured ones where they are free. A cluster that is set elsewhere is not used: a demo
    begins with empty topics. Raises NotOurDirectory where others' files are, DemoRuns.
    """
    with claim(data_dir, MARK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoRuns(f"another demo runs in {data_dir}; wait for it, or choose another --data-dir") from None
        empty(data_dir, MARK)
        yield _settings(data_dir.resolve())


def _settings(data_dir: Path) -> Settings:
    configured = Settings.load()
    ports = {name: getattr(configured.services, name) for name in PORT_FIELDS}
    ports = {name: free_port(port) for name, port in ports.items() if port is not None and name != "sasl_port"}
    return Settings.load(
        data_dir=data_dir,
        services={**ports, "sasl_port": None},
        worker={"http_port": free_port(configured.worker.http_port)},
        kafka={"bootstrap_server": f"{LOOPBACK}:{ports['kafka_port']}", "security_protocol": "PLAINTEXT"},
        registry_url=f"http://{LOOPBACK}:{ports['registry_port']}/apis/ccompat/v7",
    )


def free_port(wished: int) -> int:
    """The wished port if nobody listens there, else some free one."""
    while not port_is_free(wished):
        wished = random.choice(BELOW_EPHEMERAL)
    return wished
