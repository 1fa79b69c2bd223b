"""`flagfall services up`, apart from the services."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.base.services import local
from app.base.services.processes import Daemon
from app.base.setting_groups import KafkaSettings
from app.edge.cli.machine.doctor import of_services
from tests.support.machine.services import local_settings

FETCH_SECONDS = 1_000.0
NOBODY = "127.0.0.1:1"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_time_to_answer_does_not_count_the_fetching_of_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, clock, deadlines = local_settings(tmp_path), Clock(), []

    def fetched(name: str) -> Callable[[object], Daemon]:
        def daemon(_: object) -> Daemon:
            clock.now += FETCH_SECONDS
            return Daemon(name, ("true",), tmp_path / f"{name}.log", tmp_path / f"{name}.pid.json", {})

        return daemon

    process = type("Process", (), {"pid": 1})()
    monkeypatch.setattr(local, "monotonic", clock)
    monkeypatch.setattr(local.kafka, "daemon", fetched("kafka"))
    monkeypatch.setattr(local.registry, "daemon", fetched("registry"))
    monkeypatch.setattr(local.registry, "prepare", lambda _: None)
    monkeypatch.setattr(local.processes, "start", lambda *_: process)
    monkeypatch.setattr(local.processes, "find", lambda file: process if clock.now >= 2 * FETCH_SECONDS else None)
    monkeypatch.setattr(local.processes, "await_answer", lambda *given: deadlines.append(given[-1]))
    local.up(settings)
    assert deadlines == [2 * FETCH_SECONDS + settings.services.start_timeout_seconds] * 2


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both services run here and answer; nobody answers at NOBODY."""
    monkeypatch.setattr(local.processes, "find", lambda _: SimpleNamespace(pid=7))
    monkeypatch.setattr(local.kafka, "answers", lambda _: True)
    monkeypatch.setattr(local.registry, "answers", lambda _: True)
    monkeypatch.setattr(local.kafka, "reachable", lambda settings: settings.kafka.bootstrap_server != NOBODY)
    monkeypatch.setattr(local.registry, "reachable", lambda _: True)


@pytest.mark.usefixtures("running")
def test_a_service_that_runs_here_is_not_taken_for_the_one_that_is_set(tmp_path: Path) -> None:
    own = local_settings(tmp_path)
    assert {one.state for one in local.status(own)} == {"running"}
    kafka, registry = local.status(local_settings(tmp_path, kafka=KafkaSettings(bootstrap_server=NOBODY)))
    assert (kafka.state, kafka.address, registry.state) == ("elsewhere", NOBODY, "running")
    assert "pid 7" in (kafka.what_to_do or "")


@pytest.mark.usefixtures("running")
def test_doctor_asks_the_service_that_is_set_wherever_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = local_settings(tmp_path), local_settings(tmp_path, kafka=KafkaSettings(bootstrap_server=NOBODY))
    assert [one.grade for one in of_services(own)] == ["ok", "ok"]
    fault, _ = of_services(other)
    assert (fault.subject, fault.grade, fault.found) == ("kafka", "fault", f"no answer from {NOBODY}")
    monkeypatch.setattr(local.kafka, "reachable", lambda _: False)  # a wrong password
    assert [one.grade for one in of_services(own)] == ["fault", "ok"]
