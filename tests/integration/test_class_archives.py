"""Services begin with the classes that were kept, and whoever is ended while they are made leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from app.base.services import kafka, local, registry
from app.base.services.archiving import archive_services
from app.base.settings import Settings
from tests.support.machine.left_running import LeftRunning, await_nothing_left, left
from tests.support.machine.services import running_services
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import FLAGFALL

Caller = subprocess.Popen[bytes]
ENDINGS: dict[str, Callable[[Caller], None]] = {
    "its caller is killed": lambda caller: caller.kill(),
    "all in front are told to end": lambda caller: os.killpg(caller.pid, signal.SIGTERM),
}


def test_kafka_and_the_registry_begin_with_their_archives(tmp_path: Path) -> None:
    told: list[str] = []
    with running_services(tmp_path / "before") as settings:  # what runs is left alone
        archive_services(settings, told.append)
        assert {one.state for one in local.status(settings)} == {"running"}
    archive_services(settings, pytest.fail)
    with running_services(tmp_path / "after") as settings:
        assert mapped(settings, kafka.NAME) == {str(kafka.class_archive(settings).path)}
        assert mapped(settings, registry.NAME) == {str(registry.class_archive(settings).path)}


@pytest.mark.parametrize("kept", [(), (kafka, registry)], ids=["services", "spark"])
@pytest.mark.parametrize("ended", ENDINGS.values(), ids=ENDINGS)
def test_nothing_runs_or_lies_there_of_archives_that_were_being_made(
    kept: tuple[ModuleType, ...], ended: Callable[[Caller], None], tmp_path: Path
) -> None:
    settings = Settings.load()
    apart = settings.model_copy(update={"cache_dir": tmp_path / "cache"})
    (classes := apart.cache_dir / "classes").mkdir(parents=True)
    (apart.cache_dir / "jars").symlink_to(settings.cache_dir / "jars")
    paths = {module.class_archive(apart).path for module in kept}
    for path in paths:
        path.touch()
    command = ["sh", "-c", '"$0" services archive; exit', FLAGFALL]
    environment = os.environ | {"FLAGFALL_CACHE_DIR": str(apart.cache_dir), "FLAGFALL_DATA_DIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, start_new_session=True) as caller:
        wait_for(lambda: any(map(archives, left(classes))), "Java runs for its classes")
        ended(caller)
        caller.wait(patient(60))
    await_nothing_left(tmp_path)
    assert {path for path in classes.iterdir() if not path.name.startswith(".")} == paths


def archives(process: LeftRunning) -> bool:
    """Whether it is a Java that is to write an archive; its shell script is not."""
    return process.name == "java"


def mapped(settings: Settings, name: str) -> set[str]:
    """The archives for applications that the process has in its memory; Java's own of its library is another."""
    (pid,) = (one.pid for one in local.status(settings) if one.name == name)
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in maps if line.endswith(".jsa") and not line.endswith("classes.jsa")}
