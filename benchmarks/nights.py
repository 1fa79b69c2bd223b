"""What a night's reconciliation takes, with and without a history of the nights before. Nothing is left running.

    python -m benchmarks.nights --rides 1000000 --more 20000 --report build/nights.json

Rides are sent and counted by one worker; then `flagfall reconcile` reads all, once without a history, once into a new
one; then more rides come, and it reads these. Seconds are from start to verdict, Spark's own start among them. Beside
them the floor: what Spark takes, once started, to read, decode and group the same records.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql.avro.functions import from_avro

from app.base.kafka.clients import java_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.topic_admin import create_topics
from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.services.local import supervised
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import HEADER_BYTES
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
from app.topics import topics
from spark_batch.findings.report import REPORT
from spark_batch.session import spark_session
from spark_batch.source.kafka_range import read_spans
from spark_batch.stored.cut import Span

SEED = 7
POLL_SECONDS = 0.1
STEPS = ("checks", "changelog", "read", "decode", "ledgers", "compare", "gold")


def main(rides: int, more: int, report: Path) -> None:
    """Run it, print the figures and write them to `report`."""
    unwind_on_term()
    with own_place(Path("build/bench")) as settings, supervised(settings), owned() as owner_fd:
        create_topics(settings.kafka, topics(settings))
        register_schemas(settings, shipped(settings).sources)
        (worker,) = start_workers(settings, owner_fd, count=1)
        history = settings.data_dir / "history"
        try:
            await_ready([worker])
            _send(settings, worker.door, 0, rides)
            figures = {
                "rides": rides,
                "more": more,
                "floor": _floor(settings),
                "without_history": _night(settings, worker.url, None),
                "first_night": _night(settings, worker.url, history),
                "bytes_per_ride": {layer: _bytes(history, layer) // rides for layer in ("bronze", "silver", "gold")},
            }
            _send(settings, worker.door, rides, rides + more)
            figures["next_night"] = _night(settings, worker.url, history)
        finally:
            stop_workers(settings)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(figures, indent=2))
    print(json.dumps(figures, indent=2))


def _send(settings: Settings, worker: WorkerDoor, first: int, until: int) -> None:
    """Rides by number, sent and counted."""
    send(settings, generated(Generator(SEED), first, until - first), until - first, None)
    ends = Cluster(settings.kafka).log_ends(_places(settings), committed=True)
    while not _covers(where_tasks_stand(worker, RIDES.name)["position"], ends):
        time.sleep(POLL_SECONDS)


def _places(settings: Settings) -> list[TopicPartition]:
    return [TopicPartition(topic.name, p) for topic in RIDES.topics for p in range(settings.topics.partitions)]


def _covers(position: Mapping[str, int], ends: Mapping[TopicPartition, int]) -> bool:
    return all(position.get(str(at), 0) >= end for at, end in ends.items())


def _night(settings: Settings, url: str, history: Path | None) -> dict[str, Any]:
    from app.edge.cli.batch.reconcile import command

    output = settings.data_dir / f"reconciliation-{time.monotonic_ns()}"
    os.environ.update(settings.model_copy(update={"history_dir": history}).environment())
    began = time.monotonic()
    command.main(["--worker", url, "--output", str(output)], "flagfall reconcile", standalone_mode=False)
    seconds = time.monotonic() - began
    (told,) = (json.loads(path.read_text()) for path in output.glob(f"*/{REPORT}"))
    steps = {name: told["seconds"][name] for name in STEPS if name in told["seconds"]}
    return {name: told[name] for name in ("verdict", "records", "offsets_read")} | {
        "seconds": round(seconds, 1),
        "steps": steps,
    }


def _floor(settings: Settings) -> dict[str, float]:
    """What the same records take when Spark reads and decodes them, groups them once by five minutes and zone, and
    compares nothing; Spark's start is not in it."""
    ends = Cluster(settings.kafka).log_ends(_places(settings), committed=True)
    spans = [Span(at.topic, at.partition, 0, end) for at, end in ends.items()]
    jars, folder = fetch("spark", settings.cache_dir), settings.data_dir / "floor"
    with spark_session(jars, folder, folder / "spark.log", java_home=find_java().home) as spark:
        began = time.monotonic()
        ride = from_avro(F.expr(f"substring(value, {HEADER_BYTES + 1})"), json.dumps(record_schema(RIDES)))
        rides = read_spans(spark, java_options(settings.kafka), spans).select("partition", ride.alias("ride"))
        sums = [F.sum(f"ride.{name}") for name in ("fare_cents", "tip_cents", "distance_hundredth_miles")]
        key = ("partition", F.expr("ride.pickup_at_us div 300000000"), "ride.pickup_zone")
        rows = rides.groupBy(*key).agg(F.count("*"), *sums).count()
        return {"rows": rows, "seconds": round(time.monotonic() - began, 1)}


def _bytes(history: Path, layer: str) -> int:
    return sum(path.stat().st_size for path in history.glob(f"*/{layer}/**/*.parquet"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rides", type=int, default=1_000_000)
    parser.add_argument("--more", type=int, default=20_000)
    parser.add_argument("--report", type=Path, default=Path("build/nights.json"))
    arguments = parser.parse_args()
    main(arguments.rides, arguments.more, arguments.report)
