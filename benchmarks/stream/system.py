"""What a benched system is to the harness: how it is started, when it is done, and which rows it then has.

And what peers are given: the job as a file, a topic for their rows.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from app.base.kafka.topic import Topic
from app.base.kafka.topic_admin import create_topics
from app.base.registry.client import Registry
from app.domain.view import View
from benchmarks.stream.data_sets import PARTITIONS, TOPIC
from benchmarks.stream.place import CannotBench, Place
from benchmarks.stream.views import GRACE_SECONDS, PANE_SECONDS

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benchmarks" / "peers"
BUILT = ROOT / "build" / "bench-stream"
COMPILED = "__pycache__"
"""Where Python keeps compiled modules, and Numba its kernels, beside their sources."""

Finished = Callable[[], float | None]
"""Asked again and again: when the last commit was (Unix time), None while more is to come."""


@dataclass(frozen=True)
class Run:
    """One run of one system: a name that no other run on the broker has, and how far to read."""

    place: Place
    name: str
    folder: Path
    ends: Mapping[int, int]
    """Per partition the offset to stop before."""

    @property
    def rides(self) -> int:
        return sum(self.ends.values())


class System(Protocol):
    """One line of the table."""

    @property
    def name(self) -> str: ...

    @property
    def rides(self) -> int | None:
        """How many rides a slow system reads, a prefix of the topic; None for all."""

    @property
    def views(self) -> tuple[View, ...]:
        """What it keeps; () for a reader, which keeps nothing and is not compared."""

    def version(self) -> str:
        """Changes when a new measurement is needed: of its program, of what it runs on."""

    def command(self, run: Run) -> tuple[str, ...]:
        """What to start; writes first whatever that reads."""

    def finished(self, run: Run) -> Finished | None:
        """How its end is seen from outside; None if it tells itself, by the line `BENCH last_commit`."""

    def rows(self, run: Run) -> Kept:
        """What it has kept, read from its changelog after the end."""


@dataclass(frozen=True)
class Kept:
    """Rows by view name, and how many row records were written to the changelog for them."""

    rows: Mapping[str, pl.DataFrame]
    changelog_records: int


def digest(*parts: Path | str) -> str:
    """Twelve hex digits over the contents of files and of all files below folders, and over texts.

    What a run leaves there itself, compiled modules and kernels, is not counted.
    """
    sum_of_all = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            sum_of_all.update(part.encode())
            continue
        files = sorted(part.rglob("*")) if part.is_dir() else [part]
        for file in files:
            if file.is_file() and COMPILED not in file.parts:
                sum_of_all.update(file.read_bytes())
    return sum_of_all.hexdigest()[:12]


def write_job(run: Run, variant: Mapping[str, str]) -> Path:
    """What a peer is to do, as the file that it reads."""
    settings = run.place.settings
    schema = Registry(settings).writer_schema(run.place.schema_id)
    assert schema is not None  # the place registered it
    job: dict[str, Any] = {
        "bootstrap_server": settings.kafka.bootstrap_server,
        "name": run.name,
        "topic": TOPIC.name,
        "topic_number": TOPIC.number,
        "ends": {str(partition): end for partition, end in run.ends.items()},
        "pane_seconds": PANE_SECONDS,
        "grace_seconds": GRACE_SECONDS,
        "schema": schema.text,
        "state_dir": str(run.folder / "state"),
        "variant": dict(variant),
    }
    file = run.folder / "job.json"
    file.write_text(json.dumps(job))
    return file


def create_changelog(run: Run, name: str) -> None:
    """A compacted topic for the rows of a peer that makes none itself."""
    create_topics(run.place.settings.kafka, [Topic(name, "row", "cells", PARTITIONS, 1, "compact", "Rows.")])


def run_tool(*command: str) -> None:
    """Run what prepares a peer. Raises CannotBench with all that it said, if it failed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBench(f"{' '.join(command[:3])} … failed:\n{done.stdout}{done.stderr}")
