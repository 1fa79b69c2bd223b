"""A column of a source's record: what its values are, and how far they reach."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a column's values are; decides which measures may stand over it."""

    INTEGER = "integer"  # adds up: cents, counts, hundredths of a mile, lengths of time
    INSTANT = "instant"  # a point in time, microseconds since the epoch, UTC
    IDENTIFIER = "identifier"  # a number that names something
    TEXT = "text"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a source's record.

    `low` and `high` are inclusive; a record with a value outside is unusable (quarantined), which is
    what makes integer sums safe from overflow. Flags have none; text has MAX_TEXT_BYTES.
    """

    name: str
    kind: Kind
    nullable: bool
    low: int | None = None
    high: int | None = None
    help: str = ""
