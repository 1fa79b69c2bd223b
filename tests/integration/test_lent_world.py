"""Tests share one broker, in any order: none may find topics as another one left them."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka.admin import NewPartitions

from app.base.kafka.administrator import admin_client
from app.base.kafka.topic import Topic
from app.base.kafka.topic_admin import create_topics, topic_states
from app.base.settings import Settings
from app.rides.ride import RIDES
from app.topics import source_topics
from tests.support.machine.asking import results
from tests.support.machine.cluster import alter_topic
from tests.support.machine.fixtures import lent_world
from tests.support.machine.waiting import wait_for


def test_topics_that_a_test_widened_or_altered_are_as_declared_for_the_next(settings: Settings) -> None:
    declared = source_topics(settings, RIDES)
    with lent_world(settings):
        admin = admin_client(settings.kafka)
        results(admin.create_partitions([NewPartitions("rides.yellow", 6)]).values(), "partitions are added")
        alter_topic(settings, "rides.green", {"retention.ms": 1_000})
        wait_for(lambda: differing(settings, declared) == {"rides.yellow", "rides.green"}, "both are seen to differ")
    create_topics(settings.kafka, declared)
    assert differing(settings, declared) == set()


def differing(settings: Settings, declared: Sequence[Topic]) -> set[str]:
    """Topics that are not as declared; brokers tell of a change a moment after it was confirmed."""
    return {state.topic.name for state in topic_states(settings.kafka, declared) if state.differences}
