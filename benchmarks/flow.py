"""Rides per second through each part, one after the other: producer, one worker, Spark. Nothing is left running.

    python benchmarks/flow.py --rides 1000000 --report build/bench.json

The worker reads topics that are already full, on one core; Spark reads the same records for the reconciliation.
Figures of one run belong together: do not compare them with another machine's, nor with those of a busy one.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import psutil

from app.base.kafka.cluster import Cluster
from app.base.kafka.topic_admin import create_topics
from app.base.services.local import supervised
from app.base.settings import Settings
from app.definitions.registered import register_schemas
from app.domain.records import TopicPartition
from app.edge.cli.demo.place import own_place
from app.edge.cli.records.generate import generated
from app.edge.cli.records.sending import send
from app.edge.local.ask import where_tasks_stand
from app.edge.local.lifetime import owned, unwind_on_term
from app.edge.local.workers import await_ready, start_workers, stop_workers
from app.rides.generator.generator import Generator
from app.rides.ride import RIDES
from app.rides.shipped import shipped
from app.rides.views import VIEWS
from app.topics import topics

SEED = 7
POLL_SECONDS = 0.1


def main(rides: int, report: Path) -> None:
    """Run it, print the figures and write them to `report`."""
    unwind_on_term()
    with own_place(Path("build/bench")) as settings, supervised(settings), owned() as owner_fd:
        os.environ.update(settings.environment())
        create_topics(settings.kafka, topics(settings))
        register_schemas(settings, shipped(settings).sources)
        written, seconds = send(settings, generated(Generator(SEED), 0, rides), rides, None)
        figures: dict[str, Any] = {"rides": written.total, "producer_rides_per_second": round(written.total / seconds)}
        try:
            figures["worker"] = _worker(settings, owner_fd)
            figures["spark"] = _spark(settings)
        finally:
            stop_workers(settings)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(figures, indent=2))
    print(json.dumps(figures, indent=2))


def _worker(settings: Settings, owner_fd: int) -> dict[str, Any]:
    """One worker from an empty state to the log's end, pinned to the last core."""
    places = [TopicPartition(t.name, p) for t in RIDES.topics for p in range(settings.topics.partitions)]
    end = sum(Cluster(settings.kafka).log_ends(places, committed=True).values())
    (worker,) = start_workers(settings, owner_fd, count=1)
    process = psutil.Process(json.loads(worker.pid_file.read_text())["pid"])
    process.cpu_affinity([(psutil.cpu_count() or 1) - 1])
    for child in process.children(recursive=True):
        child.cpu_affinity([(psutil.cpu_count() or 1) - 1])
    await_ready([worker])
    began, before, covered = time.monotonic(), _cpu(process), 0
    while covered < end:
        position = where_tasks_stand(worker.door, RIDES.name)["position"]
        covered = sum(position.get(str(place), 0) for place in places)
        time.sleep(POLL_SECONDS)
    seconds, cpu = time.monotonic() - began, _cpu(process) - before
    return {
        "rides_per_second": round(end / seconds),
        "cpu_seconds_per_million_rides": round(cpu / end * 1e6, 2),
        "views": len(VIEWS),
    }


def _spark(settings: Settings) -> dict[str, Any]:
    from app.edge.cli.batch.reconcile import command

    output = settings.data_dir / "reconciliation"
    url = settings.worker.local_url
    command.main(["--worker", url, "--output", str(output)], "flagfall reconcile", standalone_mode=False)
    (told,) = (json.loads(path.read_text()) for path in output.glob("*/report.json"))
    return {name: told[name] for name in ("verdict", "records_per_second", "seconds")}


def _cpu(process: psutil.Process) -> float:
    processes = [process, *process.children(recursive=True)]
    return sum(p.cpu_times().user + p.cpu_times().system for p in processes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rides", type=int, default=1_000_000)
    parser.add_argument("--report", type=Path, default=Path("build/bench.json"))
    arguments = parser.parse_args()
    main(arguments.rides, arguments.report)
