"""A cluster and one worker to measure: the worker alone on the last core, all else on the first."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from app.base.asking import get
from app.base.kafka.topic_admin import create_topics
from app.base.services import processes
from app.base.services.local import supervised
from app.base.services.processes import Daemon
from app.base.settings import Settings
from app.base.worker_door import door_of
from app.definitions.registered import register_schemas
from app.edge.cli.demo.place import own_place
from app.edge.local.ask import Worker
from app.edge.local.lifetime import owned
from app.edge.local.workers import await_ready
from app.rides.shipped import shipped
from app.topics import topics
from benchmarks.latency.committed import COMMITS
from benchmarks.stream.place import Cores

STOP_SECONDS = 20.0
BENCHED = "benchmarks.latency.worker_app"


@contextlib.contextmanager
def place(folder: Path, tasks: int) -> Iterator[tuple[Settings, Cores, int]]:
    """An empty cluster on the first core, with all topics and so many tasks; this program stays there too."""
    cores = Cores.of_this_machine()
    os.environ["FLAGFALL_TOPICS_PARTITIONS"] = str(tasks)
    os.sched_setaffinity(0, {cores.broker})
    with own_place(folder) as settings, supervised(settings), owned() as owner_fd:
        os.environ.update(settings.environment())
        register_schemas(settings, shipped(settings).sources)
        create_topics(settings.kafka, topics(settings))
        try:
            yield settings, cores, owner_fd
        finally:
            os.sched_setaffinity(0, {cores.broker, cores.system})


@contextlib.contextmanager
def worker(
    settings: Settings, cores: Cores, owner_fd: int, module: str = BENCHED
) -> Iterator[tuple[Worker, psutil.Process]]:
    """One worker on the last core, ready, whose application is in that module; it writes its commits down."""
    os.environ[COMMITS] = str(commits_of(settings))
    log, pid_file = settings.data_dir / "logs" / "worker.log", settings.data_dir / "worker.pid.json"
    command = (sys.executable, "-m", "faust", "-A", module, "-L", "uvloop", "--quiet", "worker")
    served = Worker(door_of(settings), log, pid_file)
    with cores.starting():
        process = processes.start(Daemon("worker", command, log, pid_file, {}), STOP_SECONDS, owner_fd)
    try:
        await_ready([served])
        yield served, process
    finally:
        processes.stop(pid_file, STOP_SECONDS)


def commits_of(settings: Settings) -> Path:
    """Where the worker writes its commits down."""
    return settings.data_dir / "commits.jsonl"


def cpu_seconds(process: psutil.Process) -> float:
    """Of the processor, used so far."""
    used = process.cpu_times()
    return used.user + used.system


def core_seconds(core: int) -> float:
    """For which a core has worked so far, for whomever."""
    times = psutil.cpu_times(percpu=True)[core]
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)


def longest_hold_ms(url: str) -> float:
    """How long the worker's event loop was held at most, since its start."""
    for line in get(f"{url}/metrics", timeout_seconds=30).text.splitlines():
        if line.startswith("flagfall_loop_longest_hold_seconds "):
            return round(float(line.split()[1]) * 1000, 1)
    raise ValueError("the worker does not say how long its loop was held")
