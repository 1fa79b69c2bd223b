"""`flagfall services up`, apart from the services."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.base.services import local
from app.base.services.processes import Daemon
from tests.support.machine.services import local_settings

FETCH_SECONDS = 1_000.0


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
    monkeypatch.setattr(local.registry, "set_compatibility", lambda _: None)
    monkeypatch.setattr(local.processes, "start", lambda *_: process)
    monkeypatch.setattr(local.processes, "find", lambda file: process if clock.now >= 2 * FETCH_SECONDS else None)
    monkeypatch.setattr(local.processes, "await_answer", lambda *given: deadlines.append(given[-1]))
    local.up(settings)
    assert deadlines == [2 * FETCH_SECONDS + settings.services.start_timeout_seconds] * 2
