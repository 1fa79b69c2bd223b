"""`flagfall rights`, asked by users who may not: an empty answer of Kafka's is never taken for rights that are gone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from app.base.kafka import acls
from app.base.settings import Settings
from app.rides.shipped import shipped
from app.rights import KafkaRole, rights
from tests.support.clusters.users import Users
from tests.support.machine.workers import flagfall

DESCRIBE, ALTER = acls.Operation.DESCRIBE, acls.Operation.ALTER
ROLE, ASKED_ABOUT = KafkaRole.READER, "whoever-reads"
READS_ALL = acls.Acl(acls.Resource.TOPIC, acls.ANY_NAME, acls.Operation.READ)
MAY_ALL = acls.Acl(acls.Resource.TOPIC, acls.ANY_NAME, acls.Operation.ALL)


@pytest.fixture(scope="module")
def users(users: Users) -> Users:
    """One has exactly a role, and is asked about."""
    users.make(ROLE, ASKED_ABOUT)
    return users


@pytest.fixture
def root(users: Users) -> Settings:
    return users.brokers.settings


def who_may(users: Users, *operations: acls.Operation) -> Settings:
    """A worker that may do this to the cluster besides."""
    user = "-".join(("asks", *operations)).lower()
    settings = users.make(KafkaRole.WORKER, user)
    cluster = [acls.Acl(acls.Resource.CLUSTER, acls.CLUSTER_NAME, operation) for operation in operations]
    acls.grant(users.brokers.settings.kafka, user, cluster)
    return settings


@pytest.mark.parametrize("command", ["check", "grant", "revoke"])
def test_who_is_told_nothing_of_rights_is_refused_and_hears_what_it_lacks(
    users: Users, root: Settings, command: str
) -> None:
    before = acls.held(root.kafka, ASKED_ABOUT)
    for asking in (who_may(users), users.make(KafkaRole.ADMIN, "asks-as-admin")):
        ended = flagfall(asking, "rights", command, ROLE, ASKED_ABOUT)
        assert ended.returncode == 1
        assert ended.stdout == ""
        lacks = DESCRIBE if command == "check" else ALTER
        assert f"{asking.kafka.sasl_username} lacks {lacks} on the cluster" in ended.stderr
        assert "Traceback" not in ended.stderr
    assert acls.held(root.kafka, ASKED_ABOUT) == before


def test_who_may_only_look_is_told_of_rights_and_changes_none(users: Users, root: Settings) -> None:
    before, looks = acls.held(root.kafka, ASKED_ABOUT), who_may(users, DESCRIBE)
    assert flagfall(looks, "rights", "check", ROLE, ASKED_ABOUT).returncode == 0
    for command in ("grant", "revoke"):
        for user in (ASKED_ABOUT, "nobody-yet"):
            ended = flagfall(looks, "rights", command, ROLE, user)
            assert ended.returncode == 1
            assert f"lacks {ALTER} on the cluster" in ended.stderr
    assert acls.held(root.kafka, ASKED_ABOUT) == before


def test_who_may_alter_the_cluster_looks_gives_and_takes(users: Users) -> None:
    alters = who_may(users, ALTER)
    needed = len(rights(alters, shipped(alters), ROLE))
    for command, told in (
        ("grant", f"{needed} of them are new"),
        ("check", "exactly the rights"),
        ("revoke", f"{needed} of them are gone"),
        ("revoke", "0 of them are gone"),
    ):
        ended = flagfall(alters, "rights", command, ROLE, "for-a-while")
        assert ended.returncode == 0, ended.stderr
        assert told in ended.stdout


@pytest.fixture(params=[READS_ALL, MAY_ALL], ids=lambda acl: acl.operation)
def given_to_everybody(root: Settings, request: pytest.FixtureRequest) -> Iterator[acls.Acl]:
    """For a while, as on brokers that somebody opened."""
    acls.grant(root.kafka, acls.EVERYBODY, [request.param])
    try:
        yield request.param
    finally:
        acls.revoke(root.kafka, acls.EVERYBODY, [request.param])


def test_what_everybody_may_is_told_of_each_user_and_is_not_said_to_be_gone(
    users: Users, root: Settings, given_to_everybody: acls.Acl
) -> None:
    checked = flagfall(root, "rights", "check", "--json", ROLE, ASKED_ABOUT)
    assert checked.returncode == 1
    more = {"operation": given_to_everybody.operation, "resource": "topic", "name": "*"}
    assert json.loads(checked.stdout) == [{"user": ASKED_ABOUT, "finding": "has, as everybody", **more}]
    users.make(ROLE, "comes-and-goes")
    revoked = flagfall(root, "rights", "revoke", ROLE, "comes-and-goes")
    assert revoked.returncode == 1
    assert "none of the rights" not in revoked.stdout
    assert "still has" in revoked.stdout
    without_own = flagfall(root, "rights", "check", "--json", ROLE, "comes-and-goes")
    lacked = [one["resource"] for one in json.loads(without_own.stdout) if one["finding"] == "lacks"]
    assert lacked == ["group"]
