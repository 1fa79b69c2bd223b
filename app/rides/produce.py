"""Ride frames into the ride topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl

from app.base.kafka.producer import Producer
from app.codecs.avro.encode import encode_frame
from app.rides.frames import message_keys
from app.rides.pace import Pace
from app.rides.ride import SERVICES, avro_schema
from app.rides.sent import Encoded, SentSoFar, send_frames


def write_rides(
    producer: Producer,
    schema_ids: dict[str, int],
    frames: Iterable[pl.DataFrame],
    pace: Pace,
    tell: Callable[[SentSoFar], Any] = lambda sent: None,
) -> SentSoFar:
    """Send every ride of the frames (with `service` and `clock_ms`) and wait until all are confirmed.

    `schema_ids`: topic to registry id; asked anew for each block. `tell` is called after each block. Raises
    DeliveryFailed.
    """

    def encoded(block: pl.DataFrame) -> Iterator[Encoded]:
        for service, rides in block.partition_by("service", as_dict=True, maintain_order=True).items():
            topic = SERVICES[str(service[0])]
            values = encode_frame(rides, avro_schema(), schema_ids[topic])
            yield Encoded(topic, values, message_keys(rides), rides["clock_ms"].to_list())

    return send_frames(producer, frames, pace, encoded, tell)
