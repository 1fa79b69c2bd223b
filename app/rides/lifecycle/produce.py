"""Life cycles into their topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from app.base.kafka.producer import Producer
from app.codecs.avro.encode import encode_frame
from app.codecs.avro.record_schema import record_schema
from app.rides.lifecycle.sources import FARES, RIDE_EVENTS
from app.rides.pace import Pace
from app.rides.sent import Encoded, SentSoFar, send_frames

_SCHEMAS = {topic.name: record_schema(source) for source in (RIDE_EVENTS, FARES) for topic in source.topics}


def write_lifecycle(
    producer: Producer,
    schema_ids: Mapping[str, int],
    frames: Iterable[pl.DataFrame],
    pace: Pace,
    tell: Callable[[SentSoFar], Any] = lambda sent: None,
) -> SentSoFar:
    """Send every record of the frames (`app.rides.lifecycle.order`) and wait until all are confirmed.

    `schema_ids`: topic to registry id. `tell` is called after each block. Raises DeliveryFailed.
    """

    def encoded(block: pl.DataFrame) -> Iterator[Encoded]:
        for (name,), records in block.partition_by("topic", as_dict=True, maintain_order=True).items():
            topic = str(name)
            values = encode_frame(records, _SCHEMAS[topic], schema_ids[topic])
            yield Encoded(topic, values, records["ride_id"].cast(pl.Binary).to_list(), records["clock_ms"].to_list())

    return send_frames(producer, frames, pace, encoded, tell)
