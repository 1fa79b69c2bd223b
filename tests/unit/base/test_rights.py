"""What roles may do in Kafka: all that they need, and not what is another's."""

from __future__ import annotations

import pytest

from app.base.kafka.acls import CLUSTER_NAME, Acl, Operation, Resource
from app.base.setting_groups import HttpSettings
from app.base.settings import Settings
from app.rides.shipped import everything
from app.rights import ROLES, KafkaRole, rights
from app.topics import application_topics, needed_topics, topics

SETTINGS = Settings.load()
CATALOGUE = everything(SETTINGS)
ALL = {topic.name for topic in topics(SETTINGS, CATALOGUE)}
CHANGING = {Operation.WRITE, Operation.CREATE, Operation.ALTER}


def may(role: KafkaRole, *operations: Operation, settings: Settings = SETTINGS) -> set[str]:
    """Topics on which a role may do these."""
    found = rights(settings, CATALOGUE, role)
    return {acl.name for acl in found if acl.resource is Resource.TOPIC and acl.operation in operations}


def test_every_role_is_told_and_names_only_topics_that_there_are() -> None:
    assert set(ROLES) == set(KafkaRole)
    assert {name for role in KafkaRole for name in may(role, *Operation)} <= ALL


def test_a_worker_writes_all_that_it_keeps_and_asks_itself_for_nothing() -> None:
    kept = {topic.name for group in CATALOGUE.groups for topic in application_topics(SETTINGS, group.name)}
    asked = {name for name in kept if name.endswith((".corrections", ".advance-requests"))}
    assert asked <= may(KafkaRole.WORKER, Operation.READ) - may(KafkaRole.WORKER, Operation.WRITE)
    assert kept - asked <= may(KafkaRole.WORKER, Operation.WRITE)


def test_a_worker_looks_at_every_topic_without_which_it_does_not_start_and_at_each_that_it_tells_of() -> None:
    told = {topic.name for topic in topics(SETTINGS, CATALOGUE)}
    assert {topic.name for topic in needed_topics(SETTINGS, CATALOGUE)} < told
    assert may(KafkaRole.WORKER, Operation.DESCRIBE_CONFIGS) == told


def test_a_worker_writes_no_records_of_others_unless_it_takes_them_over_http() -> None:
    records = {topic.name for source in CATALOGUE.sources for topic in source.topics} - CATALOGUE.passed_on
    assert not records & may(KafkaRole.WORKER, Operation.WRITE)
    taking = SETTINGS.model_copy(update={"http": HttpSettings(intake=True)})
    assert records <= may(KafkaRole.WORKER, Operation.WRITE, settings=taking)


def test_every_topic_is_written_by_somebody_and_made_by_the_administrator_alone() -> None:
    written = {name for role in KafkaRole for name in may(role, Operation.WRITE)}
    assert {topic.name for topic in needed_topics(SETTINGS, CATALOGUE)} <= written
    assert may(KafkaRole.ADMIN, Operation.CREATE) == ALL
    assert {role for role in KafkaRole if may(role, Operation.CREATE, Operation.ALTER)} == {KafkaRole.ADMIN}


@pytest.mark.parametrize("role", [KafkaRole.RECONCILE, KafkaRole.READER])
def test_who_only_looks_changes_nothing(role: KafkaRole) -> None:
    assert not {acl for acl in rights(SETTINGS, CATALOGUE, role) if acl.operation in CHANGING}


def test_a_reader_sees_nothing_but_what_is_published() -> None:
    seen = may(KafkaRole.READER, *Operation)
    assert not [name for name in seen if name.startswith(SETTINGS.app_id) and name != f"{SETTINGS.app_id}.unmatched"]
    assert not seen & {topic.name for source in CATALOGUE.sources for topic in source.topics} - CATALOGUE.passed_on


def test_only_the_administrator_has_a_right_to_the_cluster() -> None:
    of_cluster = Acl(Resource.CLUSTER, CLUSTER_NAME, Operation.DESCRIBE_CONFIGS)
    assert [role for role in KafkaRole if of_cluster in rights(SETTINGS, CATALOGUE, role)] == [KafkaRole.ADMIN]
