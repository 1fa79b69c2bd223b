"""Topics on a real broker: created once, compared always."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.base.errors import KafkaUnavailable, TopicsDiffer, TopicsMissing
from app.base.settings import KafkaSettings, Settings
from app.base.topic_admin import create_topics, require_topics, topic_states
from app.topics import application_topics


def test_creating_twice_creates_once(settings: Settings) -> None:
    entries = application_topics(settings)
    assert create_topics(settings.kafka, entries) == [topic.name for topic in entries]
    assert create_topics(settings.kafka, entries) == []


def test_what_was_created_is_as_its_entry_says(settings: Settings) -> None:
    entries = application_topics(settings)
    create_topics(settings.kafka, entries)
    assert all(state.exists and not state.differences for state in topic_states(settings.kafka, entries))


def test_a_topic_with_other_partitions_and_retention_is_reported_and_nothing_is_created(settings: Settings) -> None:
    changelog, *others = application_topics(settings)
    create_topics(settings.kafka, [replace(changelog, partitions=1, cleanup="delete", retention_ms=1000)])
    with pytest.raises(TopicsDiffer) as raised:
        create_topics(settings.kafka, [changelog, *others])
    for word in ("1 partitions, not 4", "cleanup.policy=delete, not compact", "retention.ms=1000, not -1"):
        assert word in str(raised.value)
    assert not any(state.exists for state in topic_states(settings.kafka, others))


def test_topics_that_are_missing_are_named_with_the_command_that_makes_them(settings: Settings) -> None:
    entries = application_topics(settings)
    with pytest.raises(TopicsMissing, match=rf"{entries[0].name}.*flagfall topics create"):
        require_topics(settings.kafka, entries)


def test_a_broker_that_does_not_answer_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.base.topic_admin.FIRST_ANSWER_SECONDS", 1.0)
    nowhere = KafkaSettings(bootstrap_server="127.0.0.1:1")
    with pytest.raises(KafkaUnavailable, match=r"127\.0\.0\.1:1"):
        topic_states(nowhere, application_topics(settings))
