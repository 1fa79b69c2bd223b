"""The last committed marker of each task, as its changelog on the simulated cluster tells it."""

from __future__ import annotations

from app.base import names
from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import decode_marker
from app.domain.marker import Marker
from app.engine.core.definition import TaskDefinition
from app.testkit.cluster.broker import Broker


def last_markers(broker: Broker, definition: TaskDefinition) -> dict[int, Marker]:
    """By partition; none for a task that has committed nothing."""
    topic, key = names.changelog_topic(definition.application, definition.name), marker_key(definition.number)
    found = dict[int, Marker]()
    for partition in range(broker.partitions):
        for entry in reversed(list(broker.log(topic, partition).committed())):
            if entry.record is not None and entry.record.key == key:
                found[partition] = decode_marker(entry.record.value or b"")
                break
    return found
