"""The three programs of the course, in Faust: one as a worker, and what it has counted, or sent on, in Kafka."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.base.settings import Settings
from scripts.gate.parent import ends_with_parent
from tests.support.machine.workers import FAUST, environment_of
from tests.support.machine.world import messages
from tests.support.truth import cluster_of

Figures = Mapping[Any, Any]


class FaustWorker:
    """One that runs a program; `log` is what it printed."""

    def __init__(self, settings: Settings, folder: Path, module: str) -> None:
        self.log = folder / f"{module}.log"
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(
                [FAUST, "-A", module, "worker", "--without-web", "-l", "info"],
                cwd=folder,
                env=os.environ | environment_of(settings) | {"PYTHONPATH": str(folder)},
                stdout=out,
                stderr=subprocess.STDOUT,
                preexec_fn=ends_with_parent(signal.SIGKILL),  # noqa: PLW1509 - it takes no lock
            )

    def broke(self) -> str:
        """How it ended, if it has; else nothing."""
        code = self._process.poll()
        return "" if code is None else f"{self.log.stem} has ended with {code}."

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def faust_worker(settings: Settings, folder: Path, module: str) -> Iterator[FaustWorker]:
    started = FaustWorker(settings, folder, module)
    try:
        yield started
    finally:
        started.kill()


def trips_of_vendor(settings: Settings) -> Figures:
    return {json.loads(key): count for key, count in _counts(settings, "course-vendors-trips-changelog").items()}


def trips_by_minute(settings: Settings) -> Figures:
    """By vendor and the minute's first second."""
    told = _counts(settings, "course-minutes-trips-changelog")
    return {(vendor, round(begin)): n for key, n in told.items() for vendor, (begin, _) in [json.loads(key)]}


def amounts(settings: Settings) -> Figures:
    """In cents, of dear and cheap rides."""
    return {level: sorted(_cents(settings, f"course.{level}")) for level in ("high", "low")}


def _cents(settings: Settings, topic: str) -> list[int]:
    return [round(100 * json.loads(message.value())["total_amount"]) for message in messages(settings, topic)]


def _counts(settings: Settings, changelog: str) -> Mapping[str, int]:
    """The latest value of each key; of none while the topic is not there."""
    if changelog not in cluster_of(settings.kafka).topic_names(changelog):
        return {}
    return {message.key().decode(): json.loads(message.value()) for message in messages(settings, changelog)}
