"""Ride frames into the ride topics: encoded and sent by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from app.base.producer import Producer
from app.codecs.avro_encode import encode_block
from app.rides.frames import message_keys
from app.rides.pace import Pace
from app.rides.ride import SERVICES, avro_schema

BLOCK_RIDES = 20_000


@dataclass
class Written:
    """What a run has sent so far. `latest_clock_ms` is the highest Kafka timestamp, None before the first ride."""

    rides: Counter[str] = field(default_factory=Counter)
    latest_clock_ms: int | None = None

    @property
    def total(self) -> int:
        return self.rides.total()


def write_rides(
    producer: Producer,
    schema_ids: dict[str, int],
    frames: Iterable[pl.DataFrame],
    pace: Pace,
    tell: Callable[[Written], Any] = lambda written: None,
) -> Written:
    """Send every ride of the frames (with `service` and `clock_ms`) and wait until all are confirmed.

    `schema_ids`: topic to registry id. `tell` is called after each block. Raises DeliveryFailed.
    """
    written = Written()
    for frame in frames:
        for part in pace.parts(frame):
            for block in part.iter_slices(BLOCK_RIDES):
                _send(producer, schema_ids, block, written)
                tell(written)
    producer.finish()
    return written


def _send(producer: Producer, schema_ids: dict[str, int], block: pl.DataFrame, written: Written) -> None:
    for service, rides in block.partition_by("service", as_dict=True, maintain_order=True).items():
        topic = SERVICES[str(service[0])]
        values = encode_block(rides, avro_schema(), schema_ids[topic])
        producer.send(topic, values, message_keys(rides), rides["clock_ms"].to_list())
        written.rides[topic] += len(values)
    if not block.is_empty():
        written.latest_clock_ms = max(written.latest_clock_ms or 0, int(block["clock_ms"][-1]))
