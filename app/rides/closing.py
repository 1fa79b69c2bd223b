"""Close the windows that no further ride will close: requests to raise every watermark of a source (rule 8)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from app.base import names
from app.base.kafka.producer import Producer
from app.codecs.stored.advance_requests import encode_request
from app.domain.advance import AdvanceRequest, refusal_of_request
from app.domain.catalogue import TaskGroup
from app.domain.errors import FlagfallError
from app.domain.pairs.pairing import Pairing
from app.domain.records import TopicPartition
from app.domain.view import View

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CannotClose(FlagfallError):
    """The workers would refuse the watermark: choose an earlier instant."""


def group_watermark_us(group: TaskGroup, latest_clock_ms: int) -> int:
    """As `closing_watermark_us` of all that stands in the group; CannotClose if some source has no such instant."""
    _refuse_unless_admitted(group, latest_clock_ms * 1000)  # before windows are asked for that no calendar has
    watermark_us = closing_watermark_us(latest_clock_ms, group.views, group.pairing)
    _refuse_unless_admitted(group, watermark_us)
    return watermark_us


def _refuse_unless_admitted(group: TaskGroup, watermark_us: int) -> None:
    for source in group.sources:
        by_topic = {topic.name: source for topic in source.topics}
        reasons = [refusal_of_request(AdvanceRequest(topic, 0, watermark_us), by_topic, 0) for topic in by_topic]
        if any(reasons):
            low, high, asked = map(_shown, (*source.instants_us, watermark_us))
            raise CannotClose(
                f"{group.name}: a watermark of {asked} UTC, longest window and grace "
                f"included, would be refused: records of {source.name} are of {low} to {high} UTC; choose an instant "
                "that leaves room"
            )


def _shown(at_us: int) -> str:
    try:
        return f"{_EPOCH + timedelta(microseconds=at_us):%Y-%m-%d %H:%M}"
    except OverflowError:
        return f"{at_us / 1e6:.0f} s since 1970"


def closing_watermark_us(latest_clock_ms: int, views: Iterable[View], pairing: Iterable[Pairing] = ()) -> int:
    """The watermark at which nothing that holds a record up to the clock waits any more: windows, joins, alerts."""
    latest_us = latest_clock_ms * 1000
    waits_us = [view.window.span_us(latest_us) + view.grace_us for view in views]
    waits_us += [one.waits_us for one in pairing]
    return latest_us + max(waits_us, default=0)


def request_advances(
    producer: Producer,
    application: str,
    group: str,
    log_ends: Mapping[TopicPartition, int],
    watermark_us: int,
) -> int:
    """Ask every task to raise its watermarks, and wait until the requests are confirmed; returns how many.

    `log_ends`: every topic-partition that the group reads, with the offset behind its last record. It travels with the
    request as `not_before_offset`: what was written before the request was meant to be counted, not to be late.
    """
    topic = names.advance_requests_topic(application, group)
    now_ms = time.time_ns() // 1_000_000
    for place, end in sorted(log_ends.items()):
        request = AdvanceRequest(*place, watermark_us, end)
        producer.send(topic, [encode_request(request)], [None], [now_ms], place.partition)
    producer.finish()
    return len(log_ends)
