"""Services begin with the classes that were kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.base.services import kafka, local, registry
from app.base.services.archiving import archive_services
from app.base.settings import Settings
from tests.support.machine.services import running_services


def test_kafka_and_the_registry_begin_with_their_archives(tmp_path: Path) -> None:
    told: list[str] = []
    with running_services(tmp_path / "before") as settings:  # what runs is left alone
        archive_services(settings, told.append)
        assert {one.state for one in local.status(settings)} == {"running"}
    archive_services(settings, pytest.fail)
    with running_services(tmp_path / "after") as settings:
        assert mapped(settings, kafka.NAME) == {str(kafka.class_archive(settings).path)}
        assert mapped(settings, registry.NAME) == {str(registry.class_archive(settings).path)}


def mapped(settings: Settings, name: str) -> set[str]:
    """The archives for applications that the process has in its memory; Java's own of its library is another."""
    (pid,) = (one.pid for one in local.status(settings) if one.name == name)
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in maps if line.endswith(".jsa") and not line.endswith("classes.jsa")}
