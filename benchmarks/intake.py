"""Rides in over HTTP beside a native producer, into one worker that counts them. Nothing is left running.

    python -m benchmarks.intake --seconds 10 --report build/intake.json

A producer of librdkafka sends the same rides, encoded before, with acks from all and idempotence. Over HTTP callers
send requests of so many rides as lines of JSON, each with a key of its own, and wait for each answer: rides a second,
and how long a request takes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import orjson

from app.base.kafka.producer import Producer
from app.base.kafka.topic_admin import create_topics
from app.base.services.local import supervised
from app.base.settings import Settings
from app.codecs.avro.encode import encode_frame
from app.definitions.registered import register_schemas
from app.edge.cli.demo.place import own_place
from app.edge.local.lifetime import owned, unwind_on_term
from app.edge.local.workers import await_ready, start_workers, stop_workers
from app.rides.frames import message_keys
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.ride import RIDE_COLUMNS, avro_schema
from app.rides.shipped import shipped
from app.topics import topics

TOPIC = "rides.yellow"
SEED, RIDES = 7, 50_000
LOADS = ((1, 1), (1, 100), (1, 1_000), (8, 1), (8, 100), (8, 1_000))
"""Callers, and rides of a request."""
CLEAN = Dirt(late=0, stray_years=0, duplicates=0)
_numbers = count()


def main(seconds: float, report: Path) -> None:
    """Run it, print the figures and write them to `report`."""
    unwind_on_term()
    with own_place(Path("build/bench")) as place:
        settings = place.model_copy(update={"http": place.http.model_copy(update={"intake": True})})
        with supervised(settings), owned() as owner_fd:
            create_topics(settings.kafka, topics(settings))
            ids = register_schemas(settings, shipped(settings).sources)
            (worker,) = start_workers(settings, owner_fd, count=1)
            try:
                await_ready([worker])
                figures: dict[str, Any] = {"native": _native(settings, ids[TOPIC], seconds)}
                lines = [orjson.dumps(ride) + b"\n" for ride in _rides().to_dicts()]
                for callers, rides in LOADS:
                    found = _over_http(worker.url, lines, callers, rides, seconds)
                    figures[f"{callers} x {rides}"] = found
                    print(f"{callers} callers, {rides} rides a request: {json.dumps(found)}", flush=True)
            finally:
                stop_workers(settings)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(figures, indent=2) + "\n")
    print(report.read_text())


def _rides() -> Any:
    rides = Generator(SEED, dirt=CLEAN).rides(0, RIDES)
    return rides.filter(service="yellow").select(column.name for column in RIDE_COLUMNS)


def _native(settings: Settings, schema_id: int, seconds: float) -> dict[str, float]:
    rides = _rides()
    values, keys = encode_frame(rides, avro_schema(), schema_id), message_keys(rides)
    producer, began, sent = Producer(settings.kafka), time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        producer.send(TOPIC, values, keys, [time.time_ns() // 1_000_000] * len(values))
        sent += len(values)
    producer.finish()
    return {"rides_per_second": round(sent / (time.perf_counter() - began))}


def _over_http(url: str, lines: Sequence[bytes], callers: int, rides: int, seconds: float) -> dict[str, float]:
    until = time.perf_counter() + seconds
    began = time.perf_counter()

    def call(first: int) -> list[float]:
        took, at = list[float](), first
        with httpx.Client(base_url=url, timeout=60) as client:
            while (asked := time.perf_counter()) < until:
                body = b"".join(lines[(at + i) % len(lines)] for i in range(rides))
                headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": str(next(_numbers))}
                answer = client.post("/v1/rides?service=yellow", content=body, headers=headers)
                assert answer.json()["written"] == rides, answer.text
                took.append(time.perf_counter() - asked)
                at += rides
        return took

    with ThreadPoolExecutor(callers) as pool:
        took = [one for some in pool.map(call, range(0, callers * 1_000, 1_000)) for one in some]
    ends = statistics.quantiles(took, n=100) if len(took) > 1 else took * 99
    return {
        "rides_per_second": round(len(took) * rides / (time.perf_counter() - began)),
        "requests_per_second": round(len(took) / (time.perf_counter() - began), 1),
        "p50_ms": round(ends[49] * 1000, 2),
        "p99_ms": round(ends[98] * 1000, 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--report", type=Path, default=Path("build/intake.json"))
    arguments = parser.parse_args()
    main(arguments.seconds, arguments.report)
