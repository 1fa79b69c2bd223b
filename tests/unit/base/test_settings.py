"""Settings: where values come from, and what a wrong one says."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from app.base.setting_groups import SettingsGroup, variable
from app.base.settings import Settings, SettingsError, known_variables, unknown_variables

PASSWORD = "correct horse"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("FLAGFALL_")]:
        monkeypatch.delenv(name)


def test_addresses_follow_the_local_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another port for the local broker is all that must be said."""
    monkeypatch.setenv("FLAGFALL_SERVICES_KAFKA_PORT", "29092")
    monkeypatch.setenv("FLAGFALL_SERVICES_REGISTRY_PORT", "28080")
    settings = Settings.load()
    assert settings.kafka.bootstrap_server == "127.0.0.1:29092"
    assert settings.registry_url == "http://127.0.0.1:28080/apis/ccompat/v7"


def test_a_directory_is_absolute_however_it_was_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The registry's database refuses a relative one, and a child process may run elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLAGFALL_DATA_DIR", "build/up")
    assert Settings.load().data_dir == tmp_path / "build" / "up"
    assert Settings.load(cache_dir="jars").cache_dir == tmp_path / "jars"


@pytest.mark.parametrize(
    ("worker", "told", "local"),
    [
        ({}, "http://127.0.0.1:18081", "http://127.0.0.1:18081"),
        ({"http_host": "worker-1", "http_port": 8080}, "http://worker-1:8080", "http://worker-1:8080"),
        ({"http_host": "::1"}, "http://[::1]:18081", "http://[::1]:18081"),
        ({"http_host": "0.0.0.0", "advertised_url": "http://one:80/"}, "http://one:80", "http://127.0.0.1:18081"),
        ({"http_host": "::", "advertised_url": "https://a/w/1"}, "https://a/w/1", "http://[::1]:18081"),
        ({"http_host": "0", "advertised_url": "http://one:80"}, "http://one:80", "http://127.0.0.1:18081"),
        ({"http_host": "0::0", "advertised_url": "http://one:80"}, "http://one:80", "http://[::1]:18081"),
    ],
)
def test_a_worker_is_known_elsewhere_by_what_is_set_and_here_by_where_it_listens(
    worker: dict[str, Any], told: str, local: str
) -> None:
    made = Settings.load(worker=worker).worker
    assert (made.url, made.local_url) == (told, local)


def test_a_cluster_elsewhere_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAGFALL_KAFKA_BOOTSTRAP_SERVER", "one:9092,two:9092")
    monkeypatch.setenv("FLAGFALL_REGISTRY_URL", "https://registry/ccompat")
    settings = Settings.load()
    assert settings.kafka.bootstrap_server == "one:9092,two:9092"
    assert settings.registry_url == "https://registry/ccompat"


def test_no_generic_variable_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many programs set these; Faust would obey the first."""
    before = Settings.load()
    for name in ("BROKER_URL", "BOOTSTRAP_SERVER", "KAFKA_BOOTSTRAP_SERVER", "DATA_DIR", "APP_ID"):
        monkeypatch.setenv(name, "elsewhere:1")
    assert Settings.load() == before


def test_a_child_process_gets_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Settings.load(
        app_id="other",
        kafka={
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_username": "u",
            "sasl_password": PASSWORD,
            "ssl_ca_file": "ca.pem",
        },
        services={"kafka_port": 29092, "sasl_port": 29093, "sasl_password": PASSWORD},
        worker={"hold_records": 7},
    )
    for name, value in original.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings.load() == original


def test_directories_follow_the_desktop_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    settings = Settings.load()
    assert str(settings.data_dir) == "/state/flagfall"
    assert str(settings.cache_dir) == "/cache/flagfall"


NO_BOOTSTRAP = ("foo", ":1", "foo:", "foo:one", "foo:0", "foo:99999", "foo:²", "::1", "http://foo:1", "one:1,two", ",")


def test_addresses_of_brokers_are_names_or_numbers_with_ports() -> None:
    for one in ("foo:1", "127.0.0.1:65535", "[::1]:9092", "one:1,two:2", "one:1, two:2", "one:1,"):
        assert Settings.load(kafka={"bootstrap_server": one}).kafka.bootstrap_server == one


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"FLAGFALL_SERVICES_KAFKA_PORT": "many"}, ["FLAGFALL_SERVICES_KAFKA_PORT", "'many'"]),
        ({"FLAGFALL_SERVICES_KAFKA_PORT": "70000"}, ["FLAGFALL_SERVICES_KAFKA_PORT", "65535"]),
        ({"FLAGFALL_APP_ID": "a" * 101}, ["FLAGFALL_APP_ID", "100 characters"]),
        *(
            ({"FLAGFALL_KAFKA_BOOTSTRAP_SERVER": one}, ["FLAGFALL_KAFKA_BOOTSTRAP_SERVER", "is not HOST:PORT", one])
            for one in NO_BOOTSTRAP
        ),
        ({"FLAGFALL_KAFKA_BOOTSTRAP_SEVER": "h:1"}, ["FLAGFALL_KAFKA_BOOTSTRAP_SEVER", "no such setting"]),
        ({"FLAGFALL_KAFKA_SECURITY_PROTOCOL": "TLS"}, ["FLAGFALL_KAFKA_SECURITY_PROTOCOL", "SASL_SSL"]),
        ({"FLAGFALL_KAFKA_SECURITY_PROTOCOL": "SASL_SSL"}, ["FLAGFALL_KAFKA_*", "sasl_password"]),
        ({"FLAGFALL_SERVICES_REGISTRY_PORT": "19092"}, ["kafka_port", "registry_port", "19092"]),
        ({"FLAGFALL_SERVICES_SASL_PORT": "19099"}, ["sasl_port needs sasl_password"]),
        ({"FLAGFALL_APP_ID": "Two Words"}, ["FLAGFALL_APP_ID", "Two Words"]),
        ({"FLAGFALL_REGISTRY_URL": "localhost"}, ["FLAGFALL_REGISTRY_URL", "localhost"]),
        *(
            ({"FLAGFALL_SPARK_MASTER": master}, ["FLAGFALL_SPARK_MASTER", f"{master!r}", "spark://"])
            for master in ("", "spark.example:7077", "spark://spark.example", "local[*]")
        ),
        ({"FLAGFALL_WORKER_HTTP_HOST": "0.0.0.0"}, ["http://0.0.0.0:18081", "set FLAGFALL_WORKER_ADVERTISED_URL to"]),
        ({"FLAGFALL_WORKER_HTTP_HOST": "::"}, ["http://[::]:18081", "set FLAGFALL_WORKER_ADVERTISED_URL to"]),
        *(
            ({"FLAGFALL_WORKER_HTTP_HOST": host}, ["set FLAGFALL_WORKER_ADVERTISED_URL to"])
            for host in ("0", "0x0", "00.0", "0.0.0", "::0", "0:0:0:0:0:0:0:0", "::ffff:0.0.0.0")
        ),
        ({"FLAGFALL_WORKER_ADVERTISED_URL": "http://0:1"}, ["set FLAGFALL_WORKER_ADVERTISED_URL to"]),
        ({"FLAGFALL_WORKER_ADVERTISED_URL": "http://0.0.0.0:1"}, ["set FLAGFALL_WORKER_ADVERTISED_URL to"]),
        ({"FLAGFALL_WORKER_ADVERTISED_URL": "http://:1"}, ["set FLAGFALL_WORKER_ADVERTISED_URL to"]),
        ({"FLAGFALL_WORKER_ADVERTISED_URL": "http://one:70000"}, ["FLAGFALL_WORKER_*", "0-65535"]),
        ({"FLAGFALL_WORKER_ADVERTISED_URL": "http://u:p@one:1"}, ["FLAGFALL_WORKER_*", "a user before its host"]),
        ({"FLAGFALL_WORKER_ADVERTISED_URL": "http://[one"}, ["FLAGFALL_WORKER_*", "Invalid IPv6 URL"]),
        ({"FLAGFALL_WORKER_ADVERTISED_URL": "one:18081"}, ["FLAGFALL_WORKER_ADVERTISED_URL", "'one:18081'"]),
    ],
)
def test_a_wrong_value_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], said: list[str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        Settings.load()
    assert all(text in str(refused.value) for text in said), str(refused.value)


def test_passwords_are_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the settings' text, nor in an error about the group that holds one."""
    monkeypatch.setenv("FLAGFALL_KAFKA_SASL_PASSWORD", PASSWORD)
    monkeypatch.setenv("FLAGFALL_REGISTRY_PASSWORD", PASSWORD)
    assert PASSWORD not in f"{Settings.load()!r} {Settings.load()}"
    monkeypatch.setenv("FLAGFALL_KAFKA_SECURITY_PROTOCOL", "SASL_SSL")
    with pytest.raises(SettingsError) as refused:
        Settings.load()
    assert PASSWORD not in str(refused.value)


def test_variables_that_set_nothing_are_found() -> None:
    found = unknown_variables({"FLAGFALL_HTTP_POTR": "1", "FLAGFALL_APP_ID": "a", "FLAGFALL_TEST_X": "", "PATH": ""})
    assert found == ["FLAGFALL_HTTP_POTR"]


def test_the_page_lists_every_variable() -> None:
    """docs/services.md is where errors point to."""
    page = (Path(__file__).parents[3] / "docs" / "services.md").read_text()
    rows = dict(re.findall(r"^\| (\(none\)|[A-Z]+) \| (.*) \|$", page, flags=re.MULTILINE))
    listed = {
        "FLAGFALL_" + ("" if group == "(none)" else f"{group}_") + field
        for group, fields in rows.items()
        for field in re.findall(r"[A-Z][A-Z_]+", fields)
    }
    settings = Settings()
    groups = {variable(name) for name in Settings.model_fields if isinstance(getattr(settings, name), SettingsGroup)}
    assert listed == {name for name in known_variables() if name not in groups}


def test_a_whole_group_that_is_no_json_is_told_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAGFALL_KAFKA", PASSWORD)
    with pytest.raises(SettingsError, match="FLAGFALL_KAFKA: it stands for a whole group, so it must be JSON") as told:
        Settings.load()
    assert PASSWORD not in str(told.value)


def test_an_empty_path_is_as_if_it_were_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the directory that the process stands in."""
    unset = Settings.load()
    for name in ("definitions", "data_dir", "cache_dir", "kafka_ssl_ca_file"):
        monkeypatch.setenv(variable(name), "")
    loaded = Settings.load()
    assert (loaded.definitions, loaded.kafka.ssl_ca_file) == (None, None)
    assert (loaded.data_dir, loaded.cache_dir) == (unset.data_dir, unset.cache_dir)
