"""Close the windows that no further ride will close: requests to raise every watermark of a source (rule 8)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping

from app.base import names
from app.base.producer import Producer
from app.domain.alert import Alert
from app.domain.join import Join
from app.domain.records import TopicPartition
from app.domain.source import Source
from app.domain.view import Session, Tumbling, View
from app.domain.windows import Calendar, Hopping


def closing_watermark_us(latest_clock_ms: int, views: Iterable[View], pairing: Iterable[Join | Alert] = ()) -> int:
    """The watermark at which nothing that holds a record up to the clock waits any more: windows, joins, alerts."""
    latest_us = latest_clock_ms * 1000
    waits_us = [_length_us(view, latest_us) + view.grace_us for view in views]
    waits_us += [one.unmatched_after_us if isinstance(one, Join) else one.held_us for one in pairing]
    return latest_us + max(waits_us, default=0)


def _length_us(view: View, instant_us: int) -> int:
    """How long an instant can be in a window of the view."""
    match view.window:
        case Tumbling(size_us=length_us) | Hopping(size_us=length_us) | Session(gap_us=length_us):
            return length_us
        case Calendar():
            return view.boundaries.end(instant_us) - view.boundaries.start(instant_us)
    return 0


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
