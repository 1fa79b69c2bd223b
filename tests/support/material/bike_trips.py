"""Bicycle trips for the definition file of the docs, in a schema of their own that has more fields than it names."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import fastavro
from confluent_kafka import Producer

from app.base.kafka.clients import librdkafka_options
from app.base.registry.client import Registry
from app.base.settings import Settings
from app.codecs.avro.schema import framing
from tests.support.machine.asking import flush

EXAMPLE = Path(__file__).parents[3] / "docs" / "definitions.example.toml"
TOPIC = "bikes.trips"
START_US = 1_767_600_000_000_000
SECOND_US = 1_000_000
TYPES: dict[str, Any] = {
    "trip_id": "string",
    "battery": "double",
    "start_station": "int",
    "end_station": ["null", "long"],
    "started_at_us": "long",
    "ended_at_us": "long",
    "distance_m": ["null", "long"],
    "price_cents": "long",
    "note": ["null", "string"],
    "member": "boolean",
    "bike": ["null", "string"],
}
SCHEMA = {
    "type": "record",
    "name": "Trip",
    "namespace": "com.example.bikes",
    "fields": [{"name": name, "type": avro_type} for name, avro_type in TYPES.items()],
}


def trips(count: int, seed: int) -> list[dict[str, Any]]:
    """Trips by the instant of their end, a second apart, some of them reported late, some out of bounds."""
    rng, made = random.Random(seed), []
    for i in range(count):
        ended = START_US + i * 20 * SECOND_US - rng.choice((0, 0, 0, 5, 90_000)) * SECOND_US
        made.append(
            {
                "trip_id": f"trip-{i}",
                "battery": rng.random(),
                "start_station": rng.randrange(1, 20),
                "end_station": rng.choice((None, rng.randrange(1, 20))),
                "started_at_us": ended - rng.randrange(60, 5_000) * SECOND_US,
                "ended_at_us": ended,
                "distance_m": rng.choice((None, rng.randrange(9_000))),
                "price_cents": rng.choice((0, rng.randrange(2_000), 100_001)),
                "note": rng.choice((None, "é")),
                "member": rng.random() < 0.5,
                "bike": rng.choice((None, "b1")),
            }
        )
    return made


def write_trips(settings: Settings, count: int, seed: int = 1) -> None:
    """Trips and a few values that are none, acknowledged when this returns; the schema is registered at first."""
    schema_id = Registry(settings).register(f"{TOPIC}-value", SCHEMA)
    parsed = fastavro.parse_schema(SCHEMA)
    producer = Producer({**librdkafka_options(settings.kafka), "partitioner": "murmur2_random"})
    for i, trip in enumerate(trips(count, seed)):
        out = io.BytesIO(framing(schema_id))
        out.seek(0, io.SEEK_END)
        fastavro.schemaless_writer(out, parsed, trip)
        skewed = 3_600_000 if i % 100 == 99 else 0
        stamp_ms = (START_US + i * 20 * SECOND_US) // 1000 - skewed
        producer.produce(TOPIC, out.getvalue(), key=str(trip["start_station"]), timestamp=stamp_ms)
        if i % 50 == 49:
            producer.produce(TOPIC, b"no trip", key="1", timestamp=stamp_ms)
        producer.poll(0)
    flush(producer)
