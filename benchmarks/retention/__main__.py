"""Whether state ends: a year of rides through one worker whose views keep three days. Nothing is left running.

    python -m benchmarks.retention --rides 2000000 --report build/bench-retention.json

The rides are written in thirteen parts of four weeks, as fast as they go. After each, when all are covered and nothing
more expires: rows and bytes of each view, the worker's memory, the size of the changelog. At the end the changelog is
compacted (twice, for a tombstone goes with the second) and recovered, before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import uvloop

from app.base import names
from app.base.asking import get
from app.base.kafka.cluster import Cluster
from app.base.kafka.topic_admin import create_topics
from app.base.services import processes
from app.base.services.local import supervised
from app.base.services.processes import Daemon
from app.base.settings import Settings
from app.base.worker_door import door_of
from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import encode_marker
from app.definitions.registered import register_schemas
from app.domain.records import TopicPartition
from app.edge.cli.demo.place import own_place
from app.edge.local.ask import Worker
from app.edge.local.lifetime import owned, unwind_on_term
from app.edge.local.workers import await_ready
from app.engine.core.batch import Changes, Transaction
from app.engine.core.task_state import TaskState
from app.engine.drive.ownership.state_reader import StateReader
from app.engine.drive.transactions.writer import TaskWriter
from app.rides.ride import RIDES, SERVICES
from app.rides.shipped import shipped
from app.topics import topics
from benchmarks.compaction import compact, log_bytes
from benchmarks.recovery.changelogs import connections_of
from benchmarks.retention.views import RETENTION_DAYS, define

PARTS, PART_DAYS = 13, 28
START = "2025-01-06T05:00+00:00"
"""A Monday; the year ends in the past, as a broker takes no time ahead of its own."""
STOP_SECONDS, POLL_SECONDS = 20.0, 0.5
COVERED_WITHIN_SECONDS = 300.0


def main(rides: int, report: Path) -> None:
    """Run it, print the figures and write them to `report`."""
    unwind_on_term()
    told: dict[str, Any] = {"rides": rides, "retention_days": RETENTION_DAYS, "parts": []}
    with own_place(Path("build/bench-retention")) as settings, supervised(settings), owned() as owner_fd:
        os.environ.update(settings.environment())
        register_schemas(settings, shipped(settings).sources)
        create_topics(settings.kafka, topics(settings))
        log, pid_file = settings.data_dir / "logs" / "worker.log", settings.data_dir / "worker.pid.json"
        served = Worker(door_of(settings), log, pid_file)
        command = (sys.executable, "-m", "faust", "-A", "benchmarks.retention.worker_app", "-L", "uvloop", "--quiet")
        process = processes.start(Daemon("worker", (*command, "worker"), log, pid_file, {}), STOP_SECONDS, owner_fd)
        try:
            await_ready([served])
            told["empty_rss_megabytes"] = _megabytes(process)
            for part in range(PARTS):
                told["parts"].append(_part(settings, served, process, rides // PARTS, part))
                print(json.dumps(told["parts"][-1]), flush=True)
        finally:
            processes.stop(pid_file, STOP_SECONDS)
        told["as_written"] = _recovered(settings)
        topic = names.changelog_topic(settings.app_id, RIDES.name)
        told["compaction_seconds"] = [round(compact(settings, topic, lambda: _roll(settings)), 1) for _ in range(2)]
        told["compacted"] = _recovered(settings)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(told, indent=2))
    print(json.dumps({name: told[name] for name in ("as_written", "compaction_seconds", "compacted")}))


def _part(settings: Settings, served: Worker, process: psutil.Process, count: int, part: int) -> dict[str, Any]:
    began = time.monotonic()
    span = ("--first", str(part * count), "--rides", str(count), "--rides-per-day", str(count // PART_DAYS))
    subprocess.run(
        [Path(sys.executable).with_name("flagfall"), "generate", *span, "--start", START],
        check=True,
        capture_output=True,
    )
    deadline = time.monotonic() + COVERED_WITHIN_SECONDS
    before = None
    while (now := _metrics(served)) != before or not _is_covered(settings, now):
        if time.monotonic() > deadline:
            raise SystemExit(f"part {part} is not covered within {COVERED_WITHIN_SECONDS:.0f} s; see {served.log}")
        before = now
        time.sleep(POLL_SECONDS)
    return {
        "days": (part + 1) * PART_DAYS,
        "seconds": round(time.monotonic() - began, 1),
        "rows": _by_view(now, "rows"),
        "bytes": _by_view(now, "bytes"),
        "rss_megabytes": _megabytes(process),
        "changelog_megabytes": _changelog_megabytes(settings),
    }


def _metrics(served: Worker) -> dict[tuple[str, str, str], float]:
    """Value by name, view or topic, and partition."""
    text = get(f"{served.url}/metrics", timeout_seconds=30).text
    found = re.findall(
        r"^flagfall_(view_rows|view_bytes|position|transactions_total)\{(.*)\} (\S+)$", text, re.MULTILINE
    )
    labelled = [(name, dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)) for name, labels, value in found]
    return {
        (name, labels.get("view") or labels.get("topic", ""), labels["partition"]): value
        for name, labels, value in labelled
    }


def _is_covered(settings: Settings, metrics: dict[tuple[str, str, str], float]) -> bool:
    places = [TopicPartition(topic, p) for topic in SERVICES.values() for p in range(settings.topics.partitions)]
    ends = Cluster(settings.kafka).log_ends(places, committed=True)
    return all(metrics.get(("position", at.topic, str(at.partition)), 0) >= end for at, end in ends.items())


def _by_view(metrics: dict[tuple[str, str, str], float], what: str) -> dict[str, int]:
    sums: dict[str, int] = {}
    for (name, view, _), value in metrics.items():
        if name == f"view_{what}":
            sums[view] = sums.get(view, 0) + int(value)
    return sums


def _megabytes(process: psutil.Process) -> float:
    return round(process.memory_info().rss / 1e6, 1)


def _changelog_megabytes(settings: Settings) -> float:
    return round(log_bytes(settings, names.changelog_topic(settings.app_id, RIDES.name)) / 1e6, 1)


def _recovered(settings: Settings) -> dict[str, Any]:
    began = time.monotonic()
    reader, states = uvloop.run(_read(settings))
    return {
        "seconds": round(time.monotonic() - began, 2),
        "records": reader.records_read,
        "rows": {view.name: sum(len(s.views[view.name]) for s in states.values()) for view in define(settings).views},
        "changelog_megabytes": _changelog_megabytes(settings),
    }


async def _read(settings: Settings) -> tuple[StateReader, dict[int, TaskState]]:
    reader = StateReader(define(settings), connections_of(settings), settings.topics.partitions)
    return reader, await reader.read(range(settings.topics.partitions), {})


def _roll(settings: Settings) -> dict[int, int]:
    return asyncio.run(_write_markers_again(settings))


async def _write_markers_again(settings: Settings) -> dict[int, int]:
    """As the tasks' owners would; gives the markers' offsets."""
    _, states = await _read(settings)
    topic, offsets = names.changelog_topic(settings.app_id, RIDES.name), dict[int, int]()
    for task, state in states.items():
        transactional_id = names.transactional_id(settings.app_id, RIDES.name, task)
        writer = TaskWriter(connections_of(settings).client, transactional_id, topic, task)
        await writer.fence()
        record = (marker_key(RIDES.number), encode_marker(state.marker))
        offsets[task] = await writer.write(Transaction(state.marker, Changes.of([record]), [], []))
        await writer.stop()
    return offsets


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rides", type=int, default=2_000_000)
    parser.add_argument("--report", type=Path, default=Path("build/bench-retention.json"))
    arguments = parser.parse_args()
    main(arguments.rides, arguments.report)
