"""The topics hold exactly the acknowledged records: none lost, none made up, none doubled unless the broker may."""

from __future__ import annotations

from collections.abc import Iterator

from app.domain.records import Place
from app.rides.ride import RIDES
from tests.drills.world.evidence import Evidence
from tests.drills.world.expected import not_equal


def differences(evidence: Evidence) -> Iterator[str]:
    expected = {place: (r.key, r.value, r.timestamp_ms) for place, r in evidence.expected.acked.items()}
    found = {
        Place(topic.name, message.partition(), message.offset()): (
            message.key(),
            message.value(),
            message.timestamp()[1],
        )
        for topic in RIDES.topics
        for message in evidence.observed.messages(topic.name)
    }
    yield from not_equal("acknowledged records in the topics", expected, found)
