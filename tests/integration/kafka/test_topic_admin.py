"""Topics on a real broker: created once, compared always."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.base.errors import KafkaUnavailable, TopicsDiffer, TopicsMissing
from app.base.kafka.demands import broker_demands, demands_of_topics
from app.base.kafka.topic_admin import create_topics, require_topics, topic_states
from app.base.setting_groups import KafkaSettings
from app.base.settings import Settings
from app.edge.cli.machine.doctor_cluster import cluster_findings
from app.edge.cli.main import run
from app.rides.ride import RIDES
from app.topics import application_topics, source_topics
from tests.support.machine.cluster import alter_topic


def test_creating_twice_creates_once(settings: Settings) -> None:
    entries = application_topics(settings, RIDES.name)
    assert create_topics(settings.kafka, entries) == [topic.name for topic in entries]
    assert create_topics(settings.kafka, entries) == []


def test_what_was_created_is_as_its_entry_says(settings: Settings) -> None:
    entries = application_topics(settings, RIDES.name)
    create_topics(settings.kafka, entries)
    assert all(state.exists and not state.differences for state in topic_states(settings.kafka, entries))


def test_a_topic_with_other_partitions_and_retention_is_reported_and_nothing_is_created(settings: Settings) -> None:
    changelog, *others = application_topics(settings, RIDES.name)
    create_topics(settings.kafka, [replace(changelog, partitions=1, cleanup="delete", retention_ms=1000)])
    with pytest.raises(TopicsDiffer) as raised:
        create_topics(settings.kafka, [changelog, *others])
    for word in ("1 partitions, not 4", "cleanup.policy=delete, not compact", "retention.ms=1000, not -1"):
        assert word in str(raised.value)
    assert not any(state.exists for state in topic_states(settings.kafka, others))


def test_topics_that_are_missing_are_named_with_the_command_that_makes_them(settings: Settings) -> None:
    entries = application_topics(settings, RIDES.name)
    with pytest.raises(TopicsMissing, match=rf"{entries[0].name}.*flagfall topics create"):
        require_topics(settings.kafka, entries)


def test_a_broker_that_does_not_answer_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.base.kafka.administrator.FIRST_ANSWER_SECONDS", 1.0)
    nowhere = KafkaSettings(bootstrap_server="127.0.0.1:1")
    with pytest.raises(KafkaUnavailable, match=r"127\.0\.0\.1:1"):
        topic_states(nowhere, application_topics(settings, RIDES.name))


def test_the_local_broker_and_our_topics_are_as_doctor_wants_them(world: Settings) -> None:
    entries = [*source_topics(world, RIDES), *application_topics(world, RIDES.name)]
    findings = list(cluster_findings(world, entries))
    assert {one.grade for one in findings} == {"ok"}, findings
    asked = {*broker_demands(world), *demands_of_topics(entries)}
    assert len(findings) == len(asked)


def test_doctor_names_a_topic_that_may_lose_records_and_ends_with_1(
    world: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changelog = application_topics(world, RIDES.name)[0].name
    alter_topic(world, changelog, {"unclean.leader.election.enable": "true"})
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    assert run(["doctor", "--json"]) == 1
    faults = [one for one in json.loads(capsys.readouterr().out) if one["grade"] == "fault"]
    (fault,) = (one for one in faults if one["subject"] == "topics")
    assert fault["found"] == f"unclean.leader.election.enable is true ({changelog}); wanted false"
    assert f"--entity-name {changelog} --add-config unclean.leader.election.enable=false" in fault["advice"]
