"""What a source record is to the domain: where it stands, when Kafka got it, what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

Value = int | str | bool | None


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Place(NamedTuple):
    """Where a record stands."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} at {self.offset}"


@dataclass(frozen=True, slots=True)
class Record:
    """A decoded record of a source. `timestamp_ms` is Kafka's own (CreateTime)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that cannot be used, and why; it goes to the quarantine topic with its bytes."""

    topic: str
    partition: int
    offset: int
    reason: str


class Reason(StrEnum):
    """Why a record is unusable; the first that applies, in this order. The last one is for requests only."""

    NULL_VALUE = "null_value"
    TOO_SHORT = "too_short"
    BAD_MAGIC = "bad_magic"
    UNKNOWN_SCHEMA = "unknown_schema"
    INCOMPATIBLE_SCHEMA = "incompatible_schema"
    UNDECODABLE = "undecodable"
    TRAILING_BYTES = "trailing_bytes"
    OUT_OF_BOUNDS = "out_of_bounds"
    NO_TIMESTAMP = "no_timestamp"
    SKEWED = "skewed"
    UNCLEAN = "unclean"
    UNREACHABLE_OFFSET = "unreachable_offset"


def unforeseen(error: Exception) -> str:
    """The reason of a record at which decoding failed as nobody had thought of."""
    return f"{Reason.UNDECODABLE}:{type(error).__name__}"


TOO_LARGE = f"{Reason.UNDECODABLE}:BatchTooLarge"
"""The reason of a record that came in a batch which is too large, uncompressed, to be read."""
UNREADABLE_BATCH = f"{Reason.UNDECODABLE}:BatchUnreadable"
"""The reason of a record that came in a batch which is not what it says: brokers do not look at all of it."""
TOO_MANY_HEADERS = f"{Reason.UNDECODABLE}:TooManyHeaders"
"""The reason of one that came with so many headers that none of it is read."""


def is_of_its_time(reason: str) -> bool:
    """Whether the same record might be used at another time: it is a fact of the moment, or of the release, and
    stays as it was recorded."""
    return reason == Reason.UNKNOWN_SCHEMA or reason.startswith(f"{Reason.UNDECODABLE}:")


def as_integer(value: Value) -> int:
    """A value of a column that holds numbers, where the record has one."""
    if not isinstance(value, int):
        raise TypeError(f"expected an integer, got {value!r}")
    return value
