"""Brokers and workers begin again in turn, under load, with other certificates and passwords: nothing is lost."""

from __future__ import annotations

import contextlib
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
from cryptography import x509

from app.base.addresses import LOOPBACK
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.definitions.registered import register_schemas
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS
from app.rights import KafkaRole
from app.topics import topics
from tests.support.clusters.brokers import running_brokers
from tests.support.clusters.doors import GuardedDoor
from tests.support.clusters.users import Users
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker, flagfall, workers
from tests.support.machine.world import assert_exact, covers, rides_under_way

ASKED_EVERY_SECONDS = 0.02
TRIPS = f"/v1/views/{VENDOR_TRIPS.name}/rows"


def test_brokers_and_workers_begin_again_in_turn_with_other_certificates_and_passwords(tmp_path: Path) -> None:
    door = GuardedDoor(tmp_path / "door")
    with running_brokers(tmp_path / "brokers", 3, door) as brokers:
        users, root = Users(brokers, door), brokers.settings
        create_topics(root.kafka, topics(root))
        register_schemas(root, (RIDES,))
        producer, next_one = users.make(KafkaRole.PRODUCER, "producer"), users.make(KafkaRole.WORKER, "worker-2")
        with workers(users.make(KafkaRole.WORKER, "worker-1"), tmp_path, 2) as started:
            with rides_under_way(producer, 0), asked(started) as gaps:
                for at, node in enumerate(brokers.nodes):
                    serial = door.renew(node)
                    brokers.stop(at)
                    brokers.start(at)
                    wait_for(brokers.in_sync, "every partition has its copies", started)
                    assert serial_of(node) == serial
                for at, former in enumerate(started):
                    assert former.stop() == 0
                    started[at] = Worker(next_one, tmp_path / f"next-{at}.log", port=former.port)
                    wait_for(started[at].is_ready, "the worker answers", started)
                users.remove("worker-1")
                revoked = flagfall(root, "rights", "revoke", KafkaRole.WORKER, "worker-1")
                assert revoked.returncode == 0, revoked.stderr
            print(f"longest time without a whole answer: {max(gaps):.1f} s")
            wait_for(lambda: covers(root, started[0]), "every ride is covered", started)
            assert_exact(root, started)
            assert all(worker.stop() == 0 for worker in started)
        refused = flagfall(users.settings_of("worker-1"), "rights", "list", KafkaRole.WORKER)
        assert refused.returncode == 0
        assert flagfall(users.settings_of("worker-1"), "topics", "check").returncode != 0


@contextlib.contextmanager
def asked(started: Sequence[Worker]) -> Iterator[list[float]]:
    """Rows asked of whoever answers, all the while; the seconds between whole answers, once the block has ended."""
    gaps, ended = list[float](), threading.Event()

    def ask() -> None:
        last = time.monotonic()
        while not ended.wait(ASKED_EVERY_SECONDS):
            if any(map(_answers, [worker.url for worker in started])):
                gaps.append(time.monotonic() - last)
                last = time.monotonic()
        gaps.append(time.monotonic() - last)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield gaps
    finally:
        ended.set()
        asking.join()


def _answers(url: str) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        answer = httpx.get(url + TRIPS, trust_env=False, timeout=1)
        return answer.status_code == httpx.codes.OK and not answer.json()["meta"]["partial"]
    return False


def serial_of(node: Settings) -> int:
    """Of the certificate that a broker shows."""
    shown = ssl.get_server_certificate((LOOPBACK, node.services.sasl_port or 0))
    return x509.load_pem_x509_certificate(shown.encode()).serial_number
