"""A Connect worker beside the shared broker, and a PostgreSQL of a test's own: Debian's package, as a local process."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from app.base.services import connect, local
from app.base.setting_groups import HttpSettings
from app.base.settings import Settings
from scripts.gate.parent import ends_with_parent
from tests.support.machine.fixtures import lent_world, services, settings
from tests.support.machine.ports import free_ports
from tests.support.machine.waiting import wait_for

__all__ = ["services", "settings"]

OWNER = "taxi"
TIME_ZONE = "America/New_York"
"""Of database and connectors: what they take for an instant must not follow from where they stand."""


@pytest.fixture
def far_from_utc() -> Iterator[None]:
    """Of this process and of those it starts. C keeps the zone that it read last, whatever has become of `TZ`."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", TIME_ZONE)
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def connected(settings: Settings, monkeypatch: pytest.MonkeyPatch, far_from_utc: None) -> Iterator[Settings]:
    """A world that takes records, with a Connect worker that knows no connector yet; commands find it all."""
    taking = settings.model_copy(update={"http": HttpSettings(intake=True)})
    for name, value in taking.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PGPASSWORD", "nobody asks for it")
    with lent_world(taking), local.supervised(taking, wanted=[connect.NAME]) as started:
        assert started == [connect.NAME]
        yield taking


class Postgres:
    """An empty one in `folder`, which stops and starts as it is told. `address`: as libpq has it."""

    def __init__(self, program: Path, folder: Path, port: int, user: str | None) -> None:
        self.address = f"postgresql://{OWNER}@127.0.0.1:{port}/postgres"
        self._start = partial(_running, program, folder, port, user)
        self.start()

    def start(self) -> None:
        self._server = self._start()
        wait_for(lambda: _answers(self.address), "PostgreSQL answers")

    def stop(self) -> None:
        """At once, whoever is connected."""
        self._server.send_signal(signal.SIGINT)
        self._server.wait()


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> str:
    return postgres.address


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    programs = _programs()
    if programs is None and "CI" not in os.environ:
        pytest.skip("no PostgreSQL: install Debian's package `postgresql`")
    assert programs is not None, "CI needs a PostgreSQL: .ci/run installs Debian's package `postgresql`"
    user = None if os.getuid() else "postgres"  # it does not run as root
    with tempfile.TemporaryDirectory(prefix="flagfall-postgres-") as made:
        folder, (port,) = Path(made), free_ports(1)
        if user is not None:
            _give(folder, user)
        initdb = [programs / "initdb", "--auth=trust", "--username", OWNER, "--no-sync", folder / "data"]
        subprocess.run(initdb, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        server = Postgres(programs / "postgres", folder, port, user)
        try:
            yield server
        finally:
            server.stop()


def _running(program: Path, folder: Path, port: int, user: str | None) -> subprocess.Popen[bytes]:
    options = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
    told = [part for name, value in (options | {"timezone": TIME_ZONE}).items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [program, "-D", folder / "data", *told],
            user=user,
            cwd=folder,
            stdout=log,
            stderr=log,
            preexec_fn=ends_with_parent(signal.SIGINT),  # noqa: PLW1509 - it takes no lock
        )


def _give(folder: Path, user: str) -> None:
    """Let a user have it, and go through what lies above it: others' temporary directories may be closed."""
    os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    for above in folder.parents:
        if not above.stat().st_mode & 0o001:
            above.chmod(above.stat().st_mode | 0o011)


def _programs() -> Path | None:
    on_path = shutil.which("postgres")
    usual = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    found = [Path(on_path)] if on_path else usual[::-1]
    return next((path.parent for path in found if path.exists()), None)


def _answers(address: str) -> bool:
    try:
        with psycopg.connect(address):
            return True
    except psycopg.OperationalError:
        return False
