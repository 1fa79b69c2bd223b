"""A worker listens beyond loopback with keys and TLS, or where somebody decided otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.base.access_settings import AccessSettings
from app.base.setting_groups import WorkerSettings
from app.base.settings import Settings, SettingsError
from app.base.worker_door import CertificateUnusable, WorkerDoor, door_of, trusted_by
from app.edge.doors import OpenToStrangers, require_guarded, tls_context

CERTIFICATE = {"http_tls_cert_file": "cert.pem", "http_tls_key_file": "key.pem"}


def settings(worker: dict[str, str], access: dict[str, object]) -> Settings:
    return Settings.load(worker=worker | {"advertised_url": "http://worker-1:18081"}, access=access)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_on_loopback_nothing_is_asked_for(host: str) -> None:
    require_guarded(settings({"http_host": host}, {}))


@pytest.mark.parametrize(
    ("worker", "access", "missing"),
    [
        ({}, {}, "FLAGFALL_ACCESS_KEYS_FILE and FLAGFALL_WORKER_HTTP_TLS_CERT_FILE"),
        ({}, {"keys_file": "keys.json"}, "set FLAGFALL_WORKER_HTTP_TLS_CERT_FILE"),
        (CERTIFICATE, {}, "set FLAGFALL_ACCESS_KEYS_FILE"),
    ],
)
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "worker-1"])
def test_beyond_it_keys_and_tls_are(host: str, worker: dict[str, str], access: dict[str, object], missing: str) -> None:
    told = settings({"http_host": host} | worker, access)
    with pytest.raises(OpenToStrangers, match=missing) as refused:
        require_guarded(told)
    assert f"FLAGFALL_WORKER_HTTP_HOST={host}" in str(refused.value)
    assert "FLAGFALL_ACCESS_OPEN_TO_ALL=true" in str(refused.value)


def test_both_are_enough_and_so_is_a_decision() -> None:
    require_guarded(settings({"http_host": "0.0.0.0"} | CERTIFICATE, {"keys_file": "keys.json"}))
    require_guarded(settings({"http_host": "0.0.0.0"}, {"open_to_all": True}))


def test_a_certificate_and_its_key_come_together() -> None:
    with pytest.raises(SettingsError, match="come together"):
        settings({"http_tls_cert_file": "cert.pem"}, {})


def test_a_certificate_makes_the_address_one_of_tls() -> None:
    worker = WorkerSettings(**CERTIFICATE)  # type: ignore[arg-type]
    assert (worker.url, worker.local_url) == ("https://127.0.0.1:18081", "https://127.0.0.1:18081")
    assert WorkerSettings().url == "http://127.0.0.1:18081"


def test_files_that_are_no_certificates_are_named(tmp_path: Path) -> None:
    file = tmp_path / "cert.pem"
    file.write_text("none")
    for told in (file, tmp_path / "missing.pem"):
        with pytest.raises(CertificateUnusable, match=str(told)):
            tls_context(WorkerSettings(http_tls_cert_file=told, http_tls_key_file=told))
        with pytest.raises(CertificateUnusable, match=str(told)):
            trusted_by(told)
    assert tls_context(WorkerSettings()) is None


def test_a_token_is_shown_in_no_text_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAGFALL_ACCESS_TOKEN", "nightly.canary")
    loaded = Settings.load()
    assert "canary" not in repr(loaded) + str(loaded) + repr(door_of(loaded))
    assert loaded.environment()["FLAGFALL_ACCESS_TOKEN"] == "nightly.canary"
    with pytest.raises(SettingsError) as told:
        Settings.load(access={"token": ["canary"]})
    assert "canary" not in str(told.value)


def test_the_door_of_a_worker_is_where_it_is_named_else_the_local_one() -> None:
    assert door_of(Settings.load(), "http://worker-1:18081/") == WorkerDoor("http://worker-1:18081")
    assert door_of(Settings.load(access=AccessSettings(ca_file=Path("ca.pem")))).ca_file == Path("ca.pem")
