"""Close the windows that no further ride will close: requests to raise every watermark of a source (rule 8)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping

from app.base import names
from app.base.producer import Producer
from app.domain.records import TopicPartition
from app.domain.source import Source
from app.domain.view import Tumbling, View


def closing_watermark_us(latest_clock_ms: int, views: Iterable[View]) -> int:
    """The watermark at which every window of the views that a ride up to the clock can be in has closed."""
    spans = (v.window.size_us + v.grace_us for v in views if isinstance(v.window, Tumbling))
    return latest_clock_ms * 1000 + max(spans, default=0)


def request_advances(
    producer: Producer,
    application: str,
    source: Source,
    log_ends: Mapping[TopicPartition, int],
    watermark_us: int,
) -> int:
    """Ask every task to raise its watermarks, and wait until the requests are confirmed; returns how many.

    `log_ends`: every topic-partition of the source, with the offset behind its last record. It travels with the
    request as `not_before_offset`: what was written before the request was meant to be counted, not to be late.
    """
    topic = names.advance_requests_topic(application, source.name)
    now_ms = time.time_ns() // 1_000_000
    for place, end in sorted(log_ends.items()):
        request = {
            "topic": place.topic,
            "partition": place.partition,
            "watermark_us": watermark_us,
            "not_before_offset": end,
        }
        producer.send(topic, [json.dumps(request).encode()], [None], [now_ms], place.partition)
    producer.finish()
    return len(log_ends)
