"""The whole flow once, on real parts, in order; nothing is left running."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from app.base.kafka.cluster import Cluster
from app.base.kafka.topic_admin import create_topics
from app.base.services.local import supervised
from app.base.settings import Settings
from app.base.terminal import Terminal
from app.base.worker_door import WorkerDoor
from app.definitions.load import catalogue_of
from app.definitions.registered import register_schemas
from app.domain.errors import FlagfallError
from app.domain.records import TopicPartition
from app.edge.cli.demo.place import own_place
from app.edge.cli.demo.screens import Steps, announce, last_screen, show_answers
from app.edge.cli.jars import DEMO_SETS, fetch_missing
from app.edge.cli.records.sending import close_windows, progress, send
from app.edge.cli.records.zones import publish_zones
from app.edge.local.ask import await_position, await_watermark
from app.edge.local.lifetime import owned
from app.edge.local.workers import COUNT, await_ready, start_workers, stop_workers
from app.rides.ride import RIDES
from app.rides.zones import zones
from app.topics import topics

if TYPE_CHECKING:
    import polars as pl

    from app.rides.sent import SentSoFar


@dataclass
class Rides:
    """What to write: frames, how many rides they hold, and where they come from in words."""

    frames: Iterable[pl.DataFrame]
    expected: int
    origin: str


def run_demo(
    console: Terminal, data_dir: Path, rides_below: Callable[[Path], AbstractContextManager[Rides]]
) -> tuple[int, dict[str, Any]]:
    """Run it; returns the reconciliation's exit code and the facts of the last screen. Raises FlagfallError.

    `rides_below` is given the emptied directory, where rides may wait.
    """
    began = monotonic()
    steps = Steps(console)
    with own_place(data_dir) as settings, rides_below(settings.data_dir) as rides:
        os.environ.update(settings.environment())
        with steps.step("Kafka, the registry and Spark's connector: the jars, compared with their sha256"):
            fetch_missing(settings, DEMO_SETS)
        with contextlib.ExitStack() as services:
            with steps.step("A broker and a schema registry on this machine"):
                services.enter_context(supervised(settings))
            services.callback(announce, console, "Stopping everything")
            code, facts = _flow(steps, settings, rides)
    facts |= {"seconds": monotonic() - began, "steps": steps.seconds, "data_dir": str(data_dir)}
    last_screen(console, facts)
    return code, facts


def _flow(steps: Steps, settings: Settings, rides: Rides) -> tuple[int, dict[str, Any]]:
    catalogue = catalogue_of(settings)
    with steps.step("Topics, schemas and the names of zones"):
        create_topics(settings.kafka, topics(settings, catalogue))
        register_schemas(settings, catalogue.sources)
        publish_zones(settings, zones().values(), if_empty=True)
    with owned() as owner_fd:
        try:
            workers = start_workers(settings, owner_fd)
            with steps.step(f"{rides.expected:,} {rides.origin} into Kafka, while {COUNT} workers start"):
                written, seconds = send(settings, rides.frames, rides.expected, None)
            worker = workers[0].door
            with steps.step("The workers share the tasks and read to the log's end"):
                await_ready(workers)
                ends = _catch_up(settings, worker)
            with steps.step("Closing the last windows: no further ride will"):
                watermark_us = close_windows(settings, catalogue.group(RIDES.name), _latest(written))
                await_watermark(worker, RIDES.name, ends, watermark_us)
            show_answers(steps.console, worker)
            with steps.step("Spark reads the topics again, recomputes every row, and compares"):
                code, report = _reconcile(settings, worker)
        finally:
            stop_workers(settings)
    return code, _facts(written, seconds, report) | {"position": sum(ends.values())}


def _catch_up(settings: Settings, worker: WorkerDoor) -> dict[TopicPartition, int]:
    """Wait for the workers; returns the log's ends that they reached."""
    places = [TopicPartition(t.name, p) for t in RIDES.topics for p in range(settings.topics.partitions)]
    ends = Cluster(settings.kafka).log_ends(places, committed=True)
    with progress("records read", sum(ends.values())) as advanced:
        await_position(worker, RIDES.name, ends, advanced)
    return ends


def _reconcile(settings: Settings, worker: WorkerDoor) -> tuple[int, dict[str, Any]]:
    """The command itself, in this process: its JVM then ends with us, however we end."""
    from app.edge.cli.batch.reconcile import command

    output = settings.data_dir / "reconciliation"
    code = command.main(["--worker", worker.url, "--output", str(output)], "flagfall reconcile", standalone_mode=False)
    reports = sorted(output.glob("*/report.json"))
    if not reports:
        raise FlagfallError(f"the reconciliation left no report in {output}")
    report: dict[str, Any] = json.loads(reports[-1].read_text())
    return int(code or 0), report


def _latest(written: SentSoFar) -> int:
    if written.latest_clock_ms is None:
        raise FlagfallError("there were no rides to write")
    return written.latest_clock_ms


def _facts(written: SentSoFar, seconds: float, report: dict[str, Any]) -> dict[str, Any]:
    first = report["views"][0]["ledger"] if report.get("views") else []
    return {
        "rides": written.total,
        "rides_by_topic": dict(written.records),
        "rides_per_second": round(written.total / seconds),
        "late": sum(entry["recomputed"] for entry in first if entry["name"] == "late"),
        "quarantined": sum(entry["recomputed"] for entry in first if entry["name"] == "quarantined"),
        "verdict": report["verdict"],
        "reconciliation": report,
    }
