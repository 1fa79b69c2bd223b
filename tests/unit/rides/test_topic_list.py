"""The list of topics says what the rules ask for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.base.kafka.demands import entry_demands
from app.base.kafka.topic import Topic
from app.base.settings import Settings
from app.definitions.registered import value_schemas
from app.domain.catalogue import Catalogue, TaskGroup
from app.domain.errors import DefinitionError
from app.domain.oracle.branch_fold import topic_of
from app.domain.source import SourceTopic
from app.rides.branches import AMOUNTS
from app.rides.lifecycle.pairing import FARED, FARED_STARTS
from app.rides.lifecycle.questions import FARED_QUESTIONS
from app.rides.questions import QUESTIONS
from app.rides.ride import RIDES
from app.rides.shipped import LIVES, shipped
from app.rides.views import CLEANLINESS
from app.topics import (
    application_topics,
    needed_topics,
    source_topics,
    topics,
    written_topics,
    zones_topic,
)
from tables import groups


@pytest.fixture
def settings() -> Settings:
    return Settings.load(topics={"partitions": 6, "replication_factor": 3}, app_id="cabs")


def test_every_topic_is_there_once(settings: Settings) -> None:
    names = [topic.name for topic in topics(settings)]
    assert sorted(set(names)) == sorted(names)
    assert {topic.name for topic in RIDES.topics} < set(names)


def test_all_inputs_of_a_task_have_equal_partitions(settings: Settings) -> None:
    assert {topic.partitions for topic in needed_topics(settings)} == {6}


def test_names_of_zones_lie_in_one_partition_and_no_worker_needs_them(settings: Settings) -> None:
    assert [topic for topic in topics(settings) if topic not in needed_topics(settings)] == [zones_topic(settings)]
    assert (zones_topic(settings).partitions, zones_topic(settings).settings["cleanup.policy"]) == (1, "compact")


def changelog_of(settings: Settings) -> Topic:
    return next(topic for topic in topics(settings) if topic.name == "cabs-rides-changelog")


def test_rides_stay_however_old_they_are(settings: Settings) -> None:
    for topic in source_topics(settings, RIDES):
        assert topic.settings["retention.ms"] == topic.settings["retention.bytes"] == "-1"
        assert topic.settings["message.timestamp.type"] == "CreateTime"
        assert topic.settings["cleanup.policy"] == "delete"


def test_the_changelog_is_compacted_late_enough_for_a_cut_to_be_copied(settings: Settings) -> None:
    changelog = changelog_of(settings).settings
    assert changelog["cleanup.policy"] == "compact"
    assert changelog["min.compaction.lag.ms"] == "3600000"
    assert changelog["delete.retention.ms"] == "86400000"


def test_what_a_recomputation_needs_is_never_deleted(settings: Settings) -> None:
    kept = {topic.name for topic in application_topics(settings, RIDES.name) if topic.retention_ms == -1}
    assert {"cabs.advances", "cabs.quarantine", "cabs.late"} <= kept


def test_every_topic_that_tasks_write_takes_the_largest_record_that_they_carry(settings: Settings) -> None:
    on = settings.model_copy(update={"lifecycle": True, "branches": True})
    written = {topic for group in shipped(on).groups for topic in map(str, (t.name for t in written_topics(on, group)))}
    bounded = {topic.name for topic in topics(on) if topic.settings.get("max.message.bytes") == "1048588"}
    assert bounded == written


def test_with_three_copies_a_write_waits_for_two(settings: Settings) -> None:
    assert all(topic.settings["min.insync.replicas"] == "2" for topic in topics(settings))
    single = topics(Settings.load(topics={"replication_factor": 1}))
    assert all("min.insync.replicas" not in topic.settings for topic in single)


def test_each_ride_topic_has_a_subject_with_the_ride_schema(settings: Settings) -> None:
    schemas = value_schemas(shipped(settings))
    assert [schemas[f"{topic.name}-value"]["name"] for topic in RIDES.topics] == [RIDES.record] * len(RIDES.topics)


def test_branches_have_topics_only_if_the_settings_say_so(settings: Settings) -> None:
    assert not set(AMOUNTS.outputs) & {topic.name for topic in topics(settings)}
    on = settings.model_copy(update={"branches": True})
    assert {topic.name for topic in topics(on)} - {topic.name for topic in topics(settings)} == {*AMOUNTS.outputs}
    defined = [groups.define(shipped(each).group("rides"), each).branches for each in (settings, on)]
    assert defined == [(), (AMOUNTS,)]


def test_the_view_of_cleanliness_is_there_only_if_the_settings_say_so(settings: Settings) -> None:
    on = settings.model_copy(update={"cleanliness": True})
    assert CLEANLINESS not in shipped(settings).views
    assert shipped(on).group("rides").views == (*shipped(settings).group("rides").views, CLEANLINESS)


def test_the_views_of_questions_are_there_only_if_the_settings_say_so(settings: Settings) -> None:
    on = settings.model_copy(update={"questions": True})
    assert not set(QUESTIONS) & set(shipped(settings).views)
    assert shipped(on).group("rides").views == (*shipped(settings).group("rides").views, *QUESTIONS)
    assert {topic.name for topic in topics(on)} > {f"windows.{view.name}" for view in QUESTIONS}


def test_life_cycles_have_topics_only_if_the_settings_say_so(settings: Settings) -> None:
    on = settings.model_copy(update={"lifecycle": True})
    lives = {"ride_events", "fares", "rides.fared", "rides.long", "cabs.unmatched", "cabs-ride_events-changelog"}
    assert not lives & {topic.name for topic in topics(settings)}
    assert lives < {topic.name for topic in topics(on)}


def test_what_is_joined_is_read_by_a_group_of_its_own_and_listed_once(settings: Settings) -> None:
    on = settings.model_copy(update={"lifecycle": True, "questions": True})
    assert shipped(on).group(FARED.name).views == FARED_QUESTIONS
    assert [topic.name for topic in topics(on)].count(FARED_STARTS.output.name) == 1


@pytest.mark.parametrize(
    "groups",
    [
        (TaskGroup((FARED,), ()), LIVES),  # what is written behind it, as by itself, would be read in a circle
        (LIVES, TaskGroup((replace(FARED, columns=FARED.columns[1:], key="zone"),), ())),
        (LIVES, TaskGroup((replace(FARED, topics=(SourceTopic(9, "windows.payments"),)),), ())),
    ],
    ids=["in a circle", "another record", "finals"],
)
def test_nothing_else_that_the_application_writes_is_read(settings: Settings, groups: tuple[TaskGroup, ...]) -> None:
    with pytest.raises(DefinitionError, match="a source cannot read what the application writes"):
        topics(settings, Catalogue(groups))


@pytest.mark.parametrize(
    ("total_cents", "fare_cents", "topic"),
    [
        (4_000, 1, "amounts.high"),
        (3_999, 9_000, "amounts.low"),
        (None, 4_000, "amounts.high"),
        (None, None, "amounts.low"),
        (-4_000, -4_000, "amounts.low"),
    ],
)
def test_a_ride_of_40_dollars_is_high(total_cents: int | None, fare_cents: int | None, topic: str) -> None:
    assert topic_of(AMOUNTS, {"total_cents": total_cents, "fare_cents": fare_cents}) == topic


def test_a_changelog_may_keep_its_history_for_longer_than_it_must(settings: Settings) -> None:
    """Reconcile advises it where its copy takes longer."""
    asked = {demand.name: demand for demand in entry_demands(changelog_of(settings))}
    assert asked["min.compaction.lag.ms"].admits("7200000")
    assert not asked["delete.retention.ms"].admits("3600000")
