"""Real worker processes for tests: started with a test's settings, asked over HTTP, killed at will."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from app.base.settings import LOOPBACK, Settings
from tests.support.services import free_ports

FLAGFALL = Path(sys.executable).with_name("flagfall")


class Worker:
    """One worker process; `log` is what it printed. `application`: another module than `flagfall worker` runs.

    `port`: where it answers; None for a free one.
    """

    def __init__(
        self,
        settings: Settings,
        log: Path,
        environment: dict[str, str] | None = None,
        *,
        application: str | None = None,
        port: int | None = None,
    ) -> None:
        self.port = port or free_ports(1)[0]
        self.url = f"http://{LOOPBACK}:{self.port}"
        self.log = log
        self._out = log.open("ab")
        faust = [FLAGFALL.with_name("faust"), "-A", application, "-L", "uvloop", "--quiet", "worker", "-l", "info"]
        self.process = subprocess.Popen(
            faust if application else [FLAGFALL, "worker"],
            env=os.environ
            | environment_of(settings)
            | {"FLAGFALL_WORKER_HTTP_PORT": str(self.port)}
            | (environment or {}),
            stdout=self._out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def get(self, path: str, **parameters: Any) -> httpx.Response:
        return httpx.get(self.url + path, params=parameters, timeout=10)

    def is_ready(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return self.get("/readyz").status_code == httpx.codes.OK
        return False

    def kill(self) -> None:
        """As a power cut would."""
        self.send(signal.SIGKILL)
        self.process.wait()

    def send(self, number: signal.Signals) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    def stop(self) -> int:
        """TERM; the exit code. KILL after a minute, which is a failure."""
        self.send(signal.SIGTERM)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            self._out.close()


@contextlib.contextmanager
def workers(settings: Settings, folder: Path, count: int, *, application: str | None = None) -> Iterator[list[Worker]]:
    """`count` workers that are ready; killed at the end if a test did not stop them."""
    started = [Worker(settings, folder / f"worker-{i}.log", application=application) for i in range(count)]
    try:
        wait_for(lambda: all(w.is_ready() for w in started), "workers are ready", started)
        yield started
    finally:
        for worker in started:
            worker.kill()


def environment_of(settings: Settings) -> dict[str, str]:
    """The variables that give a process these settings."""
    definitions = {} if settings.definitions is None else {"FLAGFALL_DEFINITIONS": str(settings.definitions)}
    return definitions | {
        "FLAGFALL_APP_ID": settings.app_id,
        "FLAGFALL_DATA_DIR": str(settings.data_dir),
        "FLAGFALL_KAFKA_BOOTSTRAP_SERVER": settings.kafka.bootstrap_server,
        "FLAGFALL_REGISTRY_URL": settings.registry_url,
        "FLAGFALL_TOPICS_PARTITIONS": str(settings.topics.partitions),
        "FLAGFALL_WORKER_SESSION_TIMEOUT_SECONDS": str(settings.worker.session_timeout_seconds),
        "FLAGFALL_WORKER_HEARTBEAT_INTERVAL_SECONDS": str(settings.worker.heartbeat_interval_seconds),
    }


def wait_for(
    condition: Callable[[], bool], what: str, started: list[Worker] | None = None, seconds: float = 180
) -> None:
    """Ask until it holds; AssertionError with the workers' last words if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            tails = "\n".join(f"--- {w.log.name}\n{w.log.read_text()[-3000:]}" for w in started or [])
            raise AssertionError(f"not within {seconds} s: {what}\n{tails}")
        time.sleep(0.05)
