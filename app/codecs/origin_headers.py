"""Headers of records that tasks send on as they came: where each stood, and why it was set aside."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.correction import Place
from app.domain.records import Reason

TOPIC, PARTITION, OFFSET = "flagfall-topic", "flagfall-partition", "flagfall-offset"
TIMESTAMP_MS, REASON, VIEWS = "flagfall-timestamp-ms", "flagfall-reason", "flagfall-views"
VERSIONS = "flagfall-versions"
"""Beside VIEWS, in its order: a view of another version may hold the record."""
JOIN, SIDE = "flagfall-join", "flagfall-side"
SHORTENED = "flagfall-shortened"
"""Of a record that is too large to be carried whole: what it was (`app.codecs.carrying`)."""
OURS = frozenset((TOPIC, PARTITION, OFFSET, TIMESTAMP_MS, REASON, VIEWS, VERSIONS, JOIN, SIDE))


def told(headers: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """What our headers say; a record that came with such itself, whatever they hold, has them before ours."""
    last = {name: value for name, value in headers if name in OURS}
    return {name: (value or b"").decode(errors="replace") for name, value in last.items()}


def place(told: dict[str, str]) -> Place:
    """Where the record stood. KeyError or ValueError if that is not told."""
    return Place(told[TOPIC], int(told[PARTITION]), int(told[OFFSET]))


def place_of_unknown_schema(headers: Iterable[tuple[str, bytes]]) -> Place | None:
    """Where a quarantined record stood, if it named a schema that the registry did not have then (rule 15)."""
    said = told(headers)
    return place(said) if said[REASON] == Reason.UNKNOWN_SCHEMA else None
