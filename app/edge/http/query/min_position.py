"""From which position on an answer is wanted, and for how long one waits for it.

A producer's acknowledgement makes one: the record's offset, plus one. So does what an answer said it covers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from app.domain.fingerprint import MAX_OFFSET
from app.domain.records import TopicPartition
from app.domain.view import View
from app.domain.windows.durations import SECOND_US, duration_us
from app.edge.http.problems import bad_parameter
from app.edge.http.query.parameters import MIN_POSITION, WAIT, Parameters, one

DEFAULT_WAIT_SECONDS, MOST_WAIT_SECONDS = 2, 5
EXAMPLE = "rides.yellow-0:51235,rides.green-2:17"


class MinPosition(NamedTuple):
    """Next offsets that an answer is to cover at least, and for how many seconds it may be waited for."""

    at_least: Mapping[TopicPartition, int]
    wait_seconds: float


def read_min_position(view: View, parameters: Parameters) -> MinPosition | None:
    """What the parameters say; None if they name no position."""
    text, wait = one(parameters, MIN_POSITION), one(parameters, WAIT)
    if text is None:
        if wait is not None:
            raise bad_parameter(WAIT, wait, f"with {MIN_POSITION}, which says what is waited for")
        return None
    at_least: dict[TopicPartition, int] = {}
    for told in text.split(","):
        place, offset = _read(view, told)
        if place in at_least:
            raise bad_parameter(MIN_POSITION, told, f"one next offset of {place}, which is named twice")
        at_least[place] = offset
    return MinPosition(at_least, DEFAULT_WAIT_SECONDS if wait is None else _seconds(wait))


def _read(view: View, text: str) -> tuple[TopicPartition, int]:
    place, _, offset = text.rpartition(":")
    topic, _, partition = place.rpartition("-")
    numbers = [n for n in (partition, offset) if n.isascii() and n.isdigit() and len(n) < 16]
    if len(numbers) < 2 or topic not in {one.name for one in view.source.topics} or int(offset) > MAX_OFFSET:
        raise bad_parameter(MIN_POSITION, text, f"next offsets of topic-partitions of {view.source.name}, as {EXAMPLE}")
    return TopicPartition(topic, int(partition)), int(offset)


def _seconds(text: str) -> float:
    try:
        seconds = duration_us(text) / SECOND_US
    except ValueError:
        seconds = 0
    if not 0 < seconds <= MOST_WAIT_SECONDS:
        raise bad_parameter(WAIT, text, f"1s to {MOST_WAIT_SECONDS}s")
    return seconds
