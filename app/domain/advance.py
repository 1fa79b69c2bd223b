"""Watermarks that are raised without a record (rule 8), and what a request to do so may say: one rule for who asks and
who does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from app.domain.fingerprint import MAX_OFFSET
from app.domain.records import Reason
from app.domain.source import Source


class Advance(NamedTuple):
    """A watermark raised without a record (rule 8); holds for records at `at_offset` and above."""

    topic: str
    partition: int
    at_offset: int
    watermark_us: int


class AdvanceRequest(NamedTuple):
    """Raise a topic-partition's watermark, once all that lies below `not_before_offset` has been folded."""

    topic: str
    partition: int
    watermark_us: int
    not_before_offset: int = 0


def obeyed(advances: Iterable[Advance], source: Source) -> list[Advance]:
    """Those of the source's advances that recomputations obey: all but what an earlier release took for a watermark
    that no record can have."""
    return [advance for advance in advances if source.may_reach(advance.watermark_us)]


def refusal_of_request(request: AdvanceRequest, by_topic: Mapping[str, Source], partition: int) -> str | None:
    """Why the task of this partition, with these topics of records, refuses the request; None if it does not.

    That its offset can be reached is for the log to say.
    """
    source = by_topic.get(request.topic)
    if source is None:
        return f"{Reason.OUT_OF_BOUNDS}:topic"
    if request.partition != partition:
        return f"{Reason.OUT_OF_BOUNDS}:partition"
    low_us, high_us = source.instants_us
    if not low_us <= request.watermark_us <= high_us:
        return f"{Reason.OUT_OF_BOUNDS}:watermark_us"
    if not 0 <= request.not_before_offset <= MAX_OFFSET:
        return f"{Reason.OUT_OF_BOUNDS}:not_before_offset"
    return None
