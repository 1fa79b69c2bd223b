"""Requests to raise a watermark without a record (rule 8): the owner takes each at its own position."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from app.base import names
from app.domain.marker import InputPosition, Marker
from app.domain.measures import INT64_MAX, INT64_MIN
from app.engine.batch import Batch, Output


@dataclass
class Taken:
    """What requests did: raised positions, the records that say so, and indices of unreadable requests."""

    inputs: dict[str, InputPosition] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)


def take_requests(application: str, marker: Marker, batch: Batch) -> Taken:
    """Raise the watermarks that are asked for; a request below the present watermark changes nothing.

    What is written names the offset from which it holds: the position at which this task took it, whatever
    the requester knew of it. So a recomputation applies it exactly there.
    """
    taken = Taken()
    topics = marker.inputs.keys() - {batch.topic}  # requests have no watermark of their own
    for i, value in enumerate(batch.values):
        request = _read(value, batch.partition, topics)
        if request is None:
            taken.refused.append(i)
            continue
        topic, watermark_us = request
        position = taken.inputs.get(topic, marker.inputs[topic])
        if watermark_us <= position.watermark_us:
            continue
        taken.inputs[topic] = replace(position, watermark_us=watermark_us)
        document = {
            "topic": topic,
            "partition": batch.partition,
            "at_offset": position.next_offset,
            "watermark_us": watermark_us,
        }
        key = f"{topic}-{batch.partition}".encode()
        taken.outputs.append(Output(names.advances_topic(application), key, orjson.dumps(document)))
    return taken


def _read(value: bytes | None, partition: int, topics: Collection[str]) -> tuple[str, int] | None:
    try:
        document = orjson.loads(value or b"")
        topic, watermark_us = document["topic"], document["watermark_us"]
        fits = document["partition"] == partition and topic in topics and _is_instant(watermark_us)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return (topic, watermark_us) if fits else None


def _is_instant(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and INT64_MIN <= value <= INT64_MAX
