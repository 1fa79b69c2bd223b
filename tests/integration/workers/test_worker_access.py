"""Workers with keys and certificates: they answer as one who shows a key, over TLS, and nobody else."""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import SecretStr

from app.base.addresses import LOOPBACK
from app.base.exported import exported
from app.base.files.keys import new_key, write_keys
from app.base.scopes import KeyScope
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.codecs.stored.export import read_export
from tests.support.machine.cluster import write_rides
from tests.support.machine.refusals import assert_said, on_own_port
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker, flagfall
from tests.support.machine.world import covers, ends_in_words, ready_worker

RIDES = 400


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """Of loopback, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "worker")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "worker.pem", folder / "worker.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    encoding = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(*encoding))
    return files


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a key for all there is; the environment has it, and all that guards a worker."""
    certificate, private = write_certificate(tmp_path)
    key, token = new_key("all", list(KeyScope))
    write_keys(tmp_path / "keys.json", {key.name: key})
    monkeypatch.setenv("FLAGFALL_ACCESS_KEYS_FILE", str(tmp_path / "keys.json"))
    monkeypatch.setenv("FLAGFALL_ACCESS_TOKEN", token)
    monkeypatch.setenv("FLAGFALL_ACCESS_CA_FILE", str(certificate))
    monkeypatch.setenv("FLAGFALL_WORKER_HTTP_TLS_CERT_FILE", str(certificate))
    monkeypatch.setenv("FLAGFALL_WORKER_HTTP_TLS_KEY_FILE", str(private))
    return token


def test_two_workers_answer_as_one_who_shows_a_key(world: Settings, tmp_path: Path, token: str) -> None:
    write_rides(world, 0, RIDES)
    with ready_worker(world, tmp_path, "one") as one, ready_worker(world, tmp_path, "two") as two:
        wait_for(lambda: covers(world, one) and len(owners(one)) == 2, "both have read all there is", [one, two])
        for worker in (one, two):
            told = flagfall(world, "query", "vendor_trips", "--json", "--worker", worker.url)
            assert sum(row["measures"]["trips"] for row in json.loads(told.stdout)["data"]) == RIDES, told.stderr
        door = WorkerDoor(one.url, SecretStr(token), tmp_path / "worker.pem")
        tables = [read_export(exported(door, "vendor_trips", p))[1] for p in range(world.topics.partitions)]
        assert sum(table["count"].to_pylist()[at] for table in tables for at in range(len(table))) == RIDES


def owners(worker: Worker) -> set[str]:
    return {task["owner"] for task in worker.get("/v1/tasks").json()["data"]}


def test_who_shows_none_or_does_not_trust_the_worker_is_told_so(
    world: Settings, tmp_path: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ready_worker(world, tmp_path) as running:
        monkeypatch.setenv("FLAGFALL_ACCESS_TOKEN", f"{token}x")
        refused = flagfall(world, "query", "vendor_trips", "--worker", running.url)
        assert (refused.returncode, "shows a key that is unknown, or has ended" in refused.stderr) == (1, True)
        monkeypatch.delenv("FLAGFALL_ACCESS_CA_FILE")
        distrusted = flagfall(world, "status", "--worker", running.url)
        assert (distrusted.returncode, "CERTIFICATE_VERIFY_FAILED" in distrusted.stderr) == (1, True)
        distrusted = flagfall(world, "sql", "SELECT 1", "--worker", running.url)
        assert (distrusted.returncode, "FLAGFALL_ACCESS_CA_FILE" in distrusted.stderr) == (1, True)
        with pytest.raises(httpx.HTTPError):
            httpx.get(running.url.replace("https:", "http:") + "/livez", trust_env=False)
        assert token not in running.log.read_text()


def test_a_worker_does_not_start_open_to_other_machines(world: Settings) -> None:
    ended = ends_in_words(
        on_own_port(world), FLAGFALL_WORKER_HTTP_HOST="0.0.0.0", FLAGFALL_WORKER_ADVERTISED_URL="http://worker-1:1"
    )
    assert_said(ended, "lets other machines ask this worker", "FLAGFALL_ACCESS_KEYS_FILE", "docs/access.md")
