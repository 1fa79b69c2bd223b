"""Late and unusable records: each in its topic exactly once, whole, and with the right reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import Message

from app.base import names
from app.domain.records import Place
from tests.drills.world.evidence import Evidence
from tests.drills.world.expected import not_equal


def differences(evidence: Evidence) -> Iterator[str]:
    app, expected = evidence.settings.app_id, evidence.expected
    late = {place: ",".join(views) for place, views in expected.late.items()}
    yield from _of(evidence, names.late_topic(app), "flagfall-views", late)
    yield from _of(evidence, names.quarantine_topic(app), "flagfall-reason", expected.quarantined)


def _of(evidence: Evidence, topic: str, why: str, expected: Mapping[Place, str]) -> Iterator[str]:
    messages = evidence.observed.messages(topic)
    if not expected:
        yield f"{topic}: nothing is expected, so nothing was drilled"
    yield from not_equal(topic, expected, {_origin(m): _headers(m)[why].decode() for m in messages})
    twice = [place for place, times in Counter(map(_origin, messages)).items() if times > 1]
    if twice:
        yield f"{topic}: {len(twice)} records are there more than once, such as {min(twice)}"
    for message in messages:
        source = evidence.expected.acked.get(_origin(message))
        if source is not None and (message.key(), message.value()) != (source.key, source.value):
            yield f"{topic}: {_origin(message)} has other bytes"


def _headers(message: Message) -> dict[str, Any]:
    return dict(message.headers() or [])


def _origin(message: Message) -> Place:
    told = _headers(message)
    return Place(told["flagfall-topic"].decode(), int(told["flagfall-partition"]), int(told["flagfall-offset"]))
