"""Rides at a steady rate through the real producer, with all their dirt, and what the brokers acknowledged of them."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import polars as pl
from confluent_kafka import KafkaError, Message
from confluent_kafka import Producer as Client

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.producer import OPTIONS, Producer
from app.base.registry.client import Registry
from app.base.settings import Settings
from app.codecs.avro.encode import encode_frame
from app.domain.records import Place
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.pace import Pace
from app.rides.produce import write_rides
from app.rides.ride import RIDE_COLUMNS, SERVICES, avro_schema
from tests.drills.drill import DrillBroken
from tests.support.machine.waiting import patient

STEP_SECONDS = 0.1
RIDES_PER_DAY = 20_000
"""Few, so that hours of event time pass in a short drill: windows close, and rides come late."""
DIRT = Dirt(late=0.01, stray_years=0.001, duplicates=0.002)
UNKNOWN_ID = 987_654
DAY_MS = 86_400_000
JOIN_SECONDS = 200
UNCONFIRMED_SECONDS = 120
"""So long a record may wait for brokers that a drill has ended; they come back as late as the drill waits."""


class Acked(NamedTuple):
    """A record that the brokers have acknowledged."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int


class Unplaced(NamedTuple):
    """A record that a broker has acknowledged without saying where it stands.

    So it answers a repeated batch that it had appended before: its first answer was lost as it was stopped.
    """

    topic: str
    partition: int
    record: Acked


class NotingClient(Client):
    """A producer that tells `note` of each record with the timestamp that it was given.

    The delivery report has another one where a broker answers a repeated batch: the largest of that batch.
    """

    def __init__(self, options: dict[str, Any], note: Callable[[KafkaError | None, Message, int], None]) -> None:
        super().__init__(options)
        self._noted = note

    def produce(
        self, topic: str, value: bytes | None, key: bytes | None, partition: int = -1, *, timestamp: int
    ) -> None:
        """As the client's own, to which the report goes."""
        super().produce(
            topic, value, key, partition, timestamp=timestamp, on_delivery=lambda e, m: self._noted(e, m, timestamp)
        )


class Load:
    """Writes until it is stopped. `acked`, `unplaced`: what the delivery reports told; `schemas`: in use, by id."""

    def __init__(self, settings: Settings, seed: int, rides_per_second: int) -> None:
        self.acked: dict[Place, Acked] = {}
        self.unplaced: list[Unplaced] = []
        self.schemas: dict[int, str] = {}
        self._failures: list[str] = []
        self._rng = random.Random(seed)
        self._generator = Generator(seed=seed, rides_per_day=RIDES_PER_DAY, dirt=DIRT)
        self._per_step = max(1, round(rides_per_second * STEP_SECONDS))
        self._rides = 0
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._client = NotingClient(
            {
                **librdkafka_options(settings.kafka),
                **OPTIONS,
                "message.timeout.ms": int(patient(UNCONFIRMED_SECONDS) * 1000),
                "delivery.report.only.error": False,
            },
            self._note,
        )
        self._producer = Producer(settings.kafka, self._client)
        self._register(Registry(settings))
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def start(self) -> None:
        """Begin, if it was not begun."""
        if not self._thread.is_alive():
            self._thread.start()

    @property
    def count(self) -> int:
        """Rides written so far."""
        return self._rides

    def has_written(self, rides: int) -> bool:
        """Whether so many have been written, or no more are coming."""
        return self._rides >= rides or not self._thread.is_alive()

    def finish(self) -> None:
        """Stop, and wait until every record is acknowledged. DrillBroken if one was refused."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(patient(JOIN_SECONDS))
        if self._thread.is_alive() or self._error or self._failures:
            told = self._error or (self._failures[0] if self._failures else "the producer does not come to an end")
            raise DrillBroken(f"the load failed: {told}")

    def abandon(self) -> None:
        """Stop, and wait for nothing."""
        self._stop.set()

    def _register(self, registry: Registry) -> None:
        """Three schemas in use: the ride's, the same in other words, and one with a field more."""
        plain, reworded, wider = avro_schema(), avro_schema(), avro_schema()
        reworded["fields"][0] = {**reworded["fields"][0], "doc": "an identifier"}
        wider["fields"] = [*wider["fields"], {"name": "surge_cents", "type": ["null", "long"], "default": None}]
        self._ids = [
            {topic: registry.register(f"{topic}-value", schema) for topic in SERVICES.values()}
            for schema in (plain, reworded, wider)
        ]
        for ids, schema in zip(self._ids, (plain, reworded, wider), strict=True):
            self.schemas |= dict.fromkeys(ids.values(), json.dumps(schema))

    def _run(self) -> None:
        try:
            ids: dict[str, int] = dict(self._ids[0])
            write_rides(self._producer, ids, self._frames(ids), Pace(None))
        except BaseException as error:  # told by `finish`
            self._error = error

    def _frames(self, ids: dict[str, int]) -> Iterator[pl.DataFrame]:
        while not self._stop.wait(STEP_SECONDS):
            frame = self._generator.rides(self._rides, self._per_step)
            self._rides += self._per_step
            ids.update(self._rng.choice(self._ids[:2]))
            yield frame
            self._plant(frame.head(1))

    def _plant(self, ride: pl.DataFrame) -> None:
        """One odd record behind each frame."""
        topic = SERVICES[str(ride["service"][0])]
        clock_ms = int(ride["clock_ms"][0])
        value, timestamp_ms = self._odd(ride, topic, clock_ms)
        key = str(self._rng.randrange(1, 265)).encode() if self._rng.random() < 0.8 or value is None else None
        self._client.produce(topic, value, key, timestamp=timestamp_ms)

    def _odd(self, ride: pl.DataFrame, topic: str, clock_ms: int) -> tuple[bytes | None, int]:
        good = self._encoded(ride, topic)
        wider = good[:1] + self._ids[2][topic].to_bytes(4, "big") + good[5:]
        kinds: list[tuple[bytes | None, int]] = [
            (wider + b"\x00", clock_ms),  # the added field is null
            (wider + b"\x02\x90\x03", clock_ms),  # … is 200
            (wider, clock_ms),  # too short by that field
            (None, clock_ms),
            (b"", clock_ms),
            (good[:5], clock_ms),
            (b"\x01" + good[1:], clock_ms),
            (good[:1] + UNKNOWN_ID.to_bytes(4, "big") + good[5:], clock_ms),
            (good[:-3], clock_ms),
            (good + b"xx", clock_ms),
            (self._encoded(ride.with_columns(pickup_zone=pl.lit(9_999, pl.Int64)), topic), clock_ms),
            (self._encoded(ride.with_columns(pickup_at_us=pl.lit(1, pl.Int64)), topic), clock_ms),
            (good, clock_ms - DAY_MS),
        ]
        return self._rng.choice(kinds)

    def _encoded(self, ride: pl.DataFrame, topic: str) -> bytes:
        (value,) = encode_frame(ride.select(c.name for c in RIDE_COLUMNS), avro_schema(), self._ids[0][topic])
        return bytes(value)

    def _note(self, error: KafkaError | None, message: Message, timestamp_ms: int) -> None:
        if error is not None:
            self._failures.append(f"{message.topic()}: {error.str()}")
            return
        record = Acked(message.key(), message.value(), timestamp_ms)
        partition: Any = (message.topic(), message.partition())
        offset = message.offset()
        if offset is None:
            self.unplaced.append(Unplaced(*partition, record))
        else:
            self.acked[Place(*partition, offset)] = record
