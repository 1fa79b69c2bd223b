"""Real worker processes for tests: started with a test's settings, asked over HTTP, killed at will."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from app.base.addresses import LOOPBACK
from app.base.setting_groups import KafkaSettings
from app.base.settings import Settings
from app.base.worker_door import trusted_by
from scripts.gate.parent import ends_with_parent
from tests.support.machine.ports import free_ports
from tests.support.machine.waiting import NotInTime, last_words, patient, wait_for

FLAGFALL = Path(sys.executable).with_name("flagfall")
FAUST = FLAGFALL.with_name("faust")
ANSWER_SECONDS = 10.0
END_SECONDS = 120.0


class LateAnswer(NotInTime, httpx.TimeoutException):
    """Late for a test that needs the answer, an error of httpx for who asks until there is one."""


class Worker:
    """One worker process, which ends with this one; `log` is what it printed.

    `application`: another module than `flagfall worker` runs. `port`: where it answers; None for a free one.
    `command`: what starts it, if it is neither of these two.
    """

    def __init__(
        self,
        settings: Settings,
        log: Path,
        environment: dict[str, str] | None = None,
        *,
        application: str | None = None,
        port: int | None = None,
        command: Sequence[str | Path] = (),
    ) -> None:
        self.port = port or free_ports(1)[0]
        self.log = log
        self._told_to_end = False
        environs = Settings.load()
        self.url, access = f"{environs.worker.scheme}://{LOOPBACK}:{self.port}", environs.access
        token = access.token.get_secret_value()
        self._asking = httpx.Client(
            timeout=patient(ANSWER_SECONDS),
            trust_env=False,
            verify=trusted_by(access.ca_file) if access.ca_file else True,
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )
        faust = [FAUST, "-A", application, "-L", "uvloop", "--quiet", "worker", "-l", "info"]
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                command or (faust if application else [FLAGFALL, "worker"]),
                env=os.environ
                | environment_of(settings)
                | {"FLAGFALL_WORKER_HTTP_PORT": str(self.port)}
                | (environment or {}),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=ends_with_parent(signal.SIGKILL),  # noqa: PLW1509 - it takes no lock
            )

    def get(self, path: str, **parameters: Any) -> httpx.Response:
        """Its answer. LateAnswer if none comes in time; another httpx.HTTPError if nobody listens."""
        try:
            return self._asking.get(self.url + path, params=parameters)
        except httpx.TimeoutException as late:
            raise LateAnswer(f"{self.log.stem} has not answered {path}: {late!r}") from late

    def is_ready(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return self.get("/readyz").status_code == httpx.codes.OK
        return False

    def kill(self) -> None:
        """As a power cut would."""
        self.send(signal.SIGKILL)
        self.process.wait()

    def send(self, number: signal.Signals) -> None:
        self._told_to_end |= number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.send_signal(number)

    def broke(self) -> str:
        """How it ended, if nobody has told it to; else nothing."""
        ended = not self._told_to_end and self.process.poll() is not None
        return f"{self.log.stem} has ended with {self.process.returncode}." if ended else ""

    def stop(self) -> int:
        """TERM; the exit code. KILL if it does not end, which is a failure."""
        self.send(signal.SIGTERM)
        try:
            if code := self.ended():
                print(last_words([self]))  # shown where a test fails of it
            return code
        except NotInTime:
            self.kill()
            raise

    def ended(self) -> int:
        """The exit code of a worker that ends by itself. NotInTime if it does not."""
        try:
            return self.process.wait(patient(END_SECONDS))
        except subprocess.TimeoutExpired:
            raise NotInTime(f"{self.log.stem} has not ended\n{last_words([self])}") from None


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
    places = {"FLAGFALL_DEFINITIONS": settings.definitions, "FLAGFALL_HISTORY_DIR": settings.history_dir}
    told = {name: str(place) for name, place in places.items() if place is not None}
    return (
        told
        | _entering(settings.kafka)
        | {
            "FLAGFALL_APP_ID": settings.app_id,
            "FLAGFALL_DATA_DIR": str(settings.data_dir),
            "FLAGFALL_KAFKA_BOOTSTRAP_SERVER": settings.kafka.bootstrap_server,
            "FLAGFALL_REGISTRY_URL": settings.registry_url,
            "FLAGFALL_TOPICS_PARTITIONS": str(settings.topics.partitions),
            "FLAGFALL_TOPICS_REPLICATION_FACTOR": str(settings.topics.replication_factor),
            "FLAGFALL_WORKER_SESSION_TIMEOUT_SECONDS": str(settings.worker.session_timeout_seconds),
            "FLAGFALL_WORKER_HEARTBEAT_INTERVAL_SECONDS": str(settings.worker.heartbeat_interval_seconds),
        }
    )


def _entering(kafka: KafkaSettings) -> dict[str, str]:
    """How a cluster is entered, where it asks who comes."""
    if not kafka.sasl_username:
        return {}
    return {
        "FLAGFALL_KAFKA_SECURITY_PROTOCOL": kafka.security_protocol,
        "FLAGFALL_KAFKA_SASL_MECHANISM": kafka.sasl_mechanism,
        "FLAGFALL_KAFKA_SASL_USERNAME": kafka.sasl_username,
        "FLAGFALL_KAFKA_SASL_PASSWORD": kafka.sasl_password.get_secret_value(),
        "FLAGFALL_KAFKA_SSL_CA_FILE": str(kafka.ssl_ca_file or ""),
    }


def flagfall(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command as it is typed, over these settings."""
    environment = os.environ | environment_of(settings)
    return subprocess.run([FLAGFALL, *arguments], env=environment, capture_output=True, text=True, check=False)
