"""Headers of records that tasks send on as they came: where each stood, and why it was set aside."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.records import Place, is_of_its_time

TOPIC, PARTITION, OFFSET = "flagfall-topic", "flagfall-partition", "flagfall-offset"
TIMESTAMP_MS, REASON, VIEWS = "flagfall-timestamp-ms", "flagfall-reason", "flagfall-views"
VERSIONS = "flagfall-versions"
"""Beside VIEWS, in its order: a view of another version may hold the record."""
JOIN, SIDE = "flagfall-join", "flagfall-side"
SHORTENED = "flagfall-shortened"
"""Of a record that is too large to be carried whole: what it was (`app.codecs.batches.carrying`)."""
OURS = frozenset((TOPIC, PARTITION, OFFSET, TIMESTAMP_MS, REASON, VIEWS, VERSIONS, JOIN, SIDE))


def told(headers: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """What our headers say; a record that came with such itself, whatever they hold, has them before ours."""
    last = {name: value for name, value in headers if name in OURS}
    return {name: (value or b"").decode(errors="replace") for name, value in last.items()}


def stood(place: Place, timestamp_ms: int) -> tuple[tuple[str, bytes], ...]:
    """The headers that say where a record stood."""
    topic, partition, offset = place
    return (
        (TOPIC, topic.encode()),
        (PARTITION, b"%d" % partition),
        (OFFSET, b"%d" % offset),
        (TIMESTAMP_MS, b"%d" % timestamp_ms),
    )


def place(told: dict[str, str]) -> Place:
    """Where the record stood. KeyError or ValueError if that is not told."""
    return Place(told[TOPIC], int(told[PARTITION]), int(told[OFFSET]))


def refused_then(headers: Iterable[tuple[str, bytes]]) -> tuple[Place, str] | None:
    """Where a quarantined record stood, and why, if another task or another day might not have refused it (rule 15).

    It named a schema that the registry did not have then, or its task's release failed at it. None, too, of a record
    that no task wrote: readers pass it over.
    """
    said = told(headers)
    try:
        return (place(said), said[REASON]) if is_of_its_time(said[REASON]) else None
    except (KeyError, ValueError):
        return None
