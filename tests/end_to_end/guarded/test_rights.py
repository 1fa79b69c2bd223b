"""Three brokers behind TLS, passwords and rights: each role does its work by its own, and nothing beyond it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from app.base import names
from app.base.kafka import acls
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.domain.records import TopicPartition as Place
from app.rides.ride import RIDES
from app.rides.shipped import shipped
from app.rides.views import ZONE_DEMAND
from app.rights import KafkaRole, RightsMissing, require_table_check, rights
from app.topics import topics
from tests.support.clusters.users import Users
from tests.support.evidence import evidence_of
from tests.support.machine.asking import results
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import Worker, flagfall
from tests.support.machine.world import covers, delete_topics, ready_worker

JOB = Path(__file__).parents[3] / "docs" / "kubernetes" / "topics.yaml"
CLOSES_AT = "2026-01-05T06:00+00:00"
FINALS = names.finals_topic(ZONE_DEMAND.name)
SINK = names.sink_group(ZONE_DEMAND.name)
SOURCE = "rides.yellow"
USED = (KafkaRole.PRODUCER, KafkaRole.WORKER, KafkaRole.RECONCILE, KafkaRole.READER)
ELSEWHERE = {
    "worker: Read flagfall.begun",  # where a task finds its changelog empty, and has begun before
    f"reconcile: Read {FINALS}",  # of windows that no table holds any more
}
"""Rights that this test does not need."""


@pytest.fixture(scope="module")
def users(users: Users) -> Iterator[Users]:
    """One for each role, called as it; and the topics, made anew by the administrator, and for whoever comes after."""
    for role in KafkaRole:
        users.make(role, role)
    root, made = users.brokers.settings, topics(users.brokers.settings)
    delete_topics(root, [topic.name for topic in made])
    for command in commands_of_the_job():
        done(users.settings_of(KafkaRole.ADMIN), *command)
    yield users
    delete_topics(root, [topic.name for topic in made])
    create_topics(root.kafka, made)


def commands_of_the_job() -> list[list[str]]:
    """What docs/kubernetes has the administrator do."""
    _, _, line = yaml.safe_load(JOB.read_text())["spec"]["template"]["spec"]["containers"][0]["command"]
    return [command.split()[1:] for command in line.split(" && ")]


def done(settings: Settings, *arguments: str) -> str:
    ended = flagfall(settings, *arguments)
    assert ended.returncode == 0, f"{arguments}: {ended.stdout}{ended.stderr}"
    return ended.stdout


@pytest.mark.spark
def test_each_role_does_its_work_by_its_rights_and_needs_all_of_them(users: Users, tmp_path: Path) -> None:
    producer, reader, mender, reconcile = map(
        users.settings_of, (KafkaRole.PRODUCER, KafkaRole.READER, KafkaRole.MENDER, KafkaRole.RECONCILE)
    )
    root = users.brokers.settings
    done(producer, "zones", "publish")
    done(producer, "generate", "--rides", "3000", "--seed", "1")
    with ready_worker(users.settings_of(KafkaRole.WORKER), tmp_path, "worker") as worker:
        wait_for(lambda: covers(root, worker), "every ride is covered", [worker])
        done(mender, "advance", "--to", CLOSES_AT)
        read(reader, FINALS)
        done(producer, "generate", "--rides", "300", "--seed", "2")  # too late, all of them
        write(root, SOURCE)  # no record
        wait_for(lambda: covers(root, worker), "every ride is covered", [worker])
        done(mender, "late", "refeed", "--all", "--worker", worker.url)
        answered(worker)
        done(reconcile, "late", "show")
        require_table_check(reconcile, FINALS, SINK)
        assert Cluster(reconcile.kafka).group_offsets(SINK, [Place(FINALS, 0)]) == {}
        assert json.loads(done(reconcile, "reconcile", "--json", "--worker", worker.url))["verdict"] == "MATCH"
        done(reconcile, "third", ZONE_DEMAND.name, "--once")
        assert worker.stop() == 0
    found = {f"{role}: {acl.operation} {acl.name}" for role in USED for acl in superfluous(users, role)}
    assert found == ELSEWHERE


def test_what_is_done_while_no_worker_runs_needs_no_more_than_a_role(users: Users) -> None:
    worker, admin = users.settings_of(KafkaRole.WORKER), users.settings_of(KafkaRole.ADMIN)
    done(worker, "accept-loss", "--yes")
    done(worker, "rebuild", "--yes")
    done(admin, "topics", "check")
    told = done(admin, "doctor")
    assert "transaction.state.log.min.isr is 2 (broker 1, broker 2 and 1 more)" in told
    wider = admin.topics.model_copy(update={"partitions": admin.topics.partitions + 1})
    users.make(KafkaRole.ADMIN, "both")
    both = users.make(KafkaRole.WORKER, "both")
    done(both.model_copy(update={"topics": wider}), "widen", "--yes")
    assert superfluous(users, KafkaRole.ADMIN, "both") == set()


def test_a_reader_that_may_not_know_how_far_a_sink_is_is_told_which_role_may(users: Users) -> None:
    reader = users.settings_of(KafkaRole.READER)
    with pytest.raises(RightsMissing, match=rf"(?s)Describe on the group {SINK}: .*`flagfall rights grant reconcile "):
        require_table_check(reader, FINALS, SINK)


def test_a_topic_that_a_user_may_not_see_is_told_of_as_such(users: Users) -> None:
    ended = flagfall(users.settings_of(KafkaRole.READER), "rebuild", "--yes")
    assert ended.returncode == 1
    assert "flagfall rights check" in ended.stderr


def answered(worker: Worker) -> None:
    """What a worker reads for who asks it."""
    assert all(worker.get(path).is_success for path in (f"/v1/results/{FINALS}", "/v1/topics/zones"))
    row = worker.get(f"/v1/views/{ZONE_DEMAND.name}/rows", limit=1).json()["data"][0]
    assert evidence_of(worker, ZONE_DEMAND, row).meta["agrees"]


def superfluous(users: Users, role: KafkaRole, *others: str) -> set[acls.Acl]:
    """Rights that nobody was seen to use, of its own user and others. Those to describe are part of others."""
    settings = users.settings_of(role)
    used = {acl for user in (role, *others) for acl in users.seen(user)}

    def is_used(acl: acls.Acl) -> bool:
        names = (one.name for one in used if (one.resource, one.operation) == (acl.resource, acl.operation))
        return any(name.startswith(acl.name) if acl.is_prefix else name == acl.name for name in names)

    return {acl for acl in rights(settings, shipped(settings), role) if not is_used(acl)}


CHANGES_ANYTHING = acls.Acl(acls.Resource.CLUSTER, acls.CLUSTER_NAME, acls.Operation.ALTER)
TOPIC, GROUP, TRANSACTION, CLUSTER = "Topic", "Group", "Transactional Id", "CLUSTER"
ATTEMPTS: dict[str, tuple[KafkaRole, str, Callable[[Settings], object]]] = {
    "a producer reads rides": (KafkaRole.PRODUCER, TOPIC, lambda asked: read(asked, SOURCE)),
    "a producer publishes a final": (KafkaRole.PRODUCER, TOPIC, lambda asked: write(asked, FINALS)),
    "a worker makes a topic": (KafkaRole.WORKER, TOPIC, lambda asked: create(asked, "of-its-own")),
    "a worker deletes rides": (KafkaRole.WORKER, TOPIC, lambda asked: delete(asked, SOURCE)),
    "a worker sends a ride": (KafkaRole.WORKER, TOPIC, lambda asked: write(asked, SOURCE)),
    "a worker joins another group": (KafkaRole.WORKER, GROUP, lambda asked: join(asked, "another")),
    "a worker takes another's transaction": (KafkaRole.WORKER, TRANSACTION, lambda asked: transact(asked, "another")),
    "a reconciliation sends a ride": (KafkaRole.RECONCILE, TOPIC, lambda asked: write(asked, SOURCE)),
    "a reconciliation corrects rows": (KafkaRole.RECONCILE, TOPIC, lambda asked: write(asked, corrections(asked))),
    "a reconciliation joins the workers": (KafkaRole.RECONCILE, GROUP, lambda asked: join(asked, asked.app_id)),
    "a mender writes rows": (KafkaRole.MENDER, TOPIC, lambda asked: write(asked, changelog(asked))),
    "a mender has a worker's transaction": (KafkaRole.MENDER, TRANSACTION, lambda asked: transact(asked, task(asked))),
    "a reader reads rides": (KafkaRole.READER, TOPIC, lambda asked: read(asked, SOURCE)),
    "a reader reads a changelog": (KafkaRole.READER, TOPIC, lambda asked: read(asked, changelog(asked))),
    "a reader publishes a final": (KafkaRole.READER, TOPIC, lambda asked: write(asked, FINALS)),
    "a reader joins the workers": (KafkaRole.READER, GROUP, lambda asked: join(asked, asked.app_id)),
    "an administrator reads rides": (KafkaRole.ADMIN, TOPIC, lambda asked: read(asked, SOURCE)),
    "an administrator sends a ride": (KafkaRole.ADMIN, TOPIC, lambda asked: write(asked, SOURCE)),
    "an administrator deletes rides": (KafkaRole.ADMIN, TOPIC, lambda asked: delete(asked, SOURCE)),
    "an administrator makes another topic": (KafkaRole.ADMIN, TOPIC, lambda asked: create(asked, "of-its-own")),
    "an administrator gives itself rights": (KafkaRole.ADMIN, CLUSTER, lambda asked: give(asked, CHANGES_ANYTHING)),
}


@pytest.mark.parametrize("told", ATTEMPTS)
def test_what_a_role_was_not_given_is_refused(users: Users, told: str) -> None:
    role, kind, attempt = ATTEMPTS[told]
    with pytest.raises((KafkaException, acls.AclsRefused), match=f"(?i){kind}.authorization.failed"):
        attempt(users.settings_of(role))


def changelog(settings: Settings) -> str:
    return names.changelog_topic(settings.app_id, RIDES.name)


def corrections(settings: Settings) -> str:
    return names.corrections_topic(settings.app_id, RIDES.name)


def task(settings: Settings) -> str:
    """The name that transactions of a worker's task begin with."""
    return f"{settings.app_id}-{RIDES.name}-0"


def give(settings: Settings, acl: acls.Acl) -> None:
    acls.grant(settings.kafka, settings.kafka.sasl_username or "", [acl])


def read(settings: Settings, topic: str) -> Message:
    """The first record that comes, by a group as a reader may have it."""
    options = librdkafka_options(settings.kafka) | {"group.id": f"{settings.app_id}.readers.one"}
    consumer = Consumer({**options, "auto.offset.reset": "earliest"})
    try:
        if error := consumer.list_topics(topic, patient(30)).topics[topic].error:
            raise KafkaException(error)
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(settings.topics.partitions)])
        return one(consumer, in_group=False)
    finally:
        consumer.close()


def join(settings: Settings, group: str) -> Message:
    consumer = Consumer({**librdkafka_options(settings.kafka), "group.id": group})
    try:
        consumer.subscribe([FINALS])
        return one(consumer, in_group=True)
    finally:
        consumer.close()


def one(consumer: Consumer, *, in_group: bool) -> Message:
    """`in_group`: whether it is refused where the group is; a client looks for one, though it reads alone."""
    while True:
        found = consumer.poll(patient(30))
        assert found is not None, "nothing came"
        error = found.error()
        if error is None:
            return found
        if in_group or error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            raise KafkaException(error)


def write(settings: Settings, topic: str) -> None:
    told = list[KafkaError | None]()
    producer = Producer(librdkafka_options(settings.kafka))
    producer.produce(topic, b"", on_delivery=lambda error, message: told.append(error))
    assert producer.flush(patient(30)) == 0
    if told[0] is not None:
        raise KafkaException(told[0])


def transact(settings: Settings, transactional_id: str) -> None:
    producer = Producer({**librdkafka_options(settings.kafka), "transactional.id": transactional_id})
    producer.init_transactions(patient(30))


def create(settings: Settings, topic: str) -> None:
    admin = AdminClient(librdkafka_options(settings.kafka))
    results(admin.create_topics([NewTopic(topic)]).values(), "made")


def delete(settings: Settings, topic: str) -> None:
    admin = AdminClient(librdkafka_options(settings.kafka))
    results(admin.delete_topics([topic]).values(), "deleted")
