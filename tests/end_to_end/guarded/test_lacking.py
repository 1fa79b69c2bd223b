"""Users that lack a part of what their role needs: what it is stands in one place, with who can give it."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.base.kafka import acls
from app.base.settings import Settings
from app.rights import KafkaRole
from tests.support.clusters.users import Users
from tests.support.machine.refusals import assert_said
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import flagfall
from tests.support.machine.world import ends_in_words, ready_worker

SOURCE, LATE = "rides.yellow", "flagfall.late"
HINT = "`flagfall rights check`"


def without(users: Users, role: KafkaRole, user: str, *taken: tuple[acls.Resource, str, acls.Operation]) -> Settings:
    """A user with the role, but for some of its rights."""
    settings = users.make(role, user)
    take(users, user, *taken)
    return settings


def take(users: Users, user: str, *taken: tuple[acls.Resource, str, acls.Operation]) -> None:
    lacking = [acls.Acl(*one, is_prefix=one[0] is acls.Resource.TRANSACTIONAL_ID) for one in taken]
    there, _ = acls.held(users.brokers.settings.kafka, user)
    assert there.issuperset(lacking)
    acls.revoke(users.brokers.settings.kafka, user, lacking)


READS = (acls.Resource.TOPIC, SOURCE, acls.Operation.READ)


def test_a_worker_says_before_it_begins_all_that_it_may_not_and_what_for(users: Users) -> None:
    settings = without(
        users,
        KafkaRole.WORKER,
        "half",
        READS,
        (acls.Resource.TOPIC, LATE, acls.Operation.WRITE),
        (acls.Resource.GROUP, "flagfall", acls.Operation.READ),
    )
    assert_said(
        ends_in_words(settings),
        "Kafka does not give half all that a worker needs:",
        f"Read on the topic {SOURCE}: counts its records",
        f"Write on the topic {LATE}: keeps it in its transactions",
        "Read on the group flagfall: shares tasks with the others",
        "`flagfall rights grant worker half` gives it",
    )


def test_who_does_not_get_in_is_told_why_or_what_to_look_at(users: Users) -> None:
    """Three at once, as each asks for as long as a broker may take."""
    mistaken = {
        "sasl_password": (SecretStr("of somebody else"), "does not let us in: ", "SASL", "FLAGFALL_KAFKA_SASL_*"),
        "ssl_ca_file": (None, "does not let us in: ", "certificate verify failed", "FLAGFALL_KAFKA_SSL_*"),
        "security_protocol": ("PLAINTEXT", "no broker answers at ", "FLAGFALL_KAFKA_SECURITY_PROTOCOL is PLAINTEXT"),
    }
    root = users.brokers.settings

    def ask(name: str) -> subprocess.CompletedProcess[str]:
        kafka = root.kafka.model_copy(update={name: mistaken[name][0]})
        return flagfall(root.model_copy(update={"kafka": kafka}), "topics", "check")

    with ThreadPoolExecutor() as pool:
        for name, ended in zip(mistaken, pool.map(ask, mistaken), strict=True):
            assert ended.returncode == 1
            for words in mistaken[name][1:]:
                assert str(words) in ended.stderr


def test_a_worker_that_may_not_have_its_transactions_says_so_where_one_begins(users: Users) -> None:
    transactions = (acls.Resource.TRANSACTIONAL_ID, "flagfall-rides-", acls.Operation.WRITE)
    settings = without(users, KafkaRole.WORKER, "bare", transactions)
    assert_said(ends_in_words(settings), "TransactionalIdAuthorizationFailed: flagfall-rides-", HINT)


def test_a_worker_whose_right_is_taken_while_it_runs_says_so_and_ends(users: Users, tmp_path: Path) -> None:
    settings = users.make(KafkaRole.WORKER, "former")
    with ready_worker(settings, tmp_path) as worker:
        take(users, "former", READS)
        wait_for(lambda: worker.ended() == 1, "it has ended", [])
    told = worker.log.read_text()
    assert "Kafka refuses it: " in told
    assert SOURCE in told
    assert HINT in told
    assert "Traceback" not in told


def test_a_reconciliation_that_may_not_read_what_it_compares_gives_no_verdict_and_says_why(
    users: Users, tmp_path: Path
) -> None:
    changelog = "flagfall-rides-changelog"
    settings = without(users, KafkaRole.RECONCILE, "blind", (acls.Resource.TOPIC, changelog, acls.Operation.READ))
    ended = flagfall(settings, "reconcile", "--json", "--output", str(tmp_path))
    assert ended.returncode == 11
    found = json.loads(ended.stdout)
    assert found["verdict"] == "INCONCLUSIVE"
    assert f"Read on the topic {changelog}: compares it, or explains by it" in found["reason"]


@pytest.mark.parametrize(
    ("arguments", "topic", "role"),
    [
        (("generate", "--rides", "100"), SOURCE, KafkaRole.PRODUCER),
        (("advance", "--to", "2026-01-05T06:00+00:00"), "flagfall.rides.advance-requests", KafkaRole.MENDER),
        (("late", "refeed", "--all"), "flagfall.rides.corrections", KafkaRole.MENDER),
    ],
)
def test_a_command_that_may_see_a_topic_and_not_write_to_it_says_so(
    users: Users, arguments: tuple[str, ...], topic: str, role: KafkaRole
) -> None:
    ended = flagfall(users.make(KafkaRole.RECONCILE, "curious"), *arguments)
    assert ended.returncode == 1
    assert f"Write on the topic {topic}: sends records" in ended.stderr
    assert f"`flagfall rights grant {role} curious`" in ended.stderr
    assert "Traceback" not in ended.stderr
