"""Sends rides at an even rate, in a process of its own: python -m benchmarks.latency.send RATE SECONDS [START]

Rides are reported from START on, an instant, or from the generator's own.
Prints a line when all is encoded and the sending begins. Kafka's timestamps are those of the call to send, in whole
milliseconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import datetime

from confluent_kafka import Producer

from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.codecs.avro.encode import encode_frame
from app.definitions.registered import register_schemas
from app.rides.frames import message_keys
from app.rides.generator.demand import MAX_NUMBER
from app.rides.generator.generator import DEFAULT_START, Generator
from app.rides.ride import RIDES, SERVICES, avro_schema

OPTIONS = {"acks": "all", "enable.idempotence": True, "partitioner": "murmur2_random", "compression.type": "lz4"}
"""All else as the library has it: it gathers records for 5 ms, which is part of the latency."""
TICK_SECONDS = 0.001
BLOCK_RIDES = 20_000
SEED = 7

Ride = tuple[str, bytes, bytes]


def main(rate: int, seconds: int, start: datetime = DEFAULT_START) -> None:
    """Send `rate` rides a second for so long."""
    settings = Settings.load()
    rides = list(_encoded(settings, rate, rate * seconds, start))
    producer = Producer({**librdkafka_options(settings.kafka), **OPTIONS})
    producer.list_topics(timeout=10)
    print("sending", flush=True)
    began, sent = time.monotonic(), 0
    while sent < len(rides):
        due = min(len(rides), int((time.monotonic() - began) * rate) + 1)
        for topic, key, value in rides[sent:due]:
            producer.produce(topic, value, key)
        sent = due
        producer.poll(0)
        time.sleep(max(0.0, began + sent / rate - time.monotonic(), TICK_SECONDS))
    producer.flush(30)


def _encoded(settings: Settings, rate: int, count: int, start: datetime) -> Iterator[Ride]:
    """Generated rides in the order of their numbers, as dense as a city would report them (11,574 a second at most)."""
    ids = register_schemas(settings, (RIDES,))
    generator = Generator(SEED, start, rides_per_day=min(rate * 86_400, MAX_NUMBER))
    for first in range(0, count, BLOCK_RIDES):
        frame = generator.rides(first, min(BLOCK_RIDES, count - first)).with_row_index("nth")
        rides: dict[int, Ride] = {}
        for (service,), part in frame.partition_by("service", as_dict=True).items():
            topic = SERVICES[str(service)]
            values = encode_frame(part.drop("nth"), avro_schema(), ids[topic])
            rides |= zip(part["nth"], zip([topic] * len(values), message_keys(part), values, strict=True), strict=True)
        yield from (rides[nth] for nth in range(len(frame)))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *map(datetime.fromisoformat, sys.argv[3:]))
