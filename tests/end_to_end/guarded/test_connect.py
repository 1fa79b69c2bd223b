"""Kafka Connect behind passwords and rights: those that docs/connect.md lists are enough for a sink and a source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, AdminClient
from confluent_kafka.admin import ResourcePatternType as Pattern
from confluent_kafka.admin import ResourceType as Resource

from app.base.kafka.acls import ANY_HOST, principal
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.names import finals_topic, sink_group
from app.base.services import connect, local
from app.base.settings import Settings
from app.domain.records import TopicPartition
from app.edge.connectors.source import file_source
from app.rides.views import ZONE_DEMAND
from app.rights import KafkaRole
from tests.support.clusters.users import Users
from tests.support.machine.asking import results
from tests.support.machine.ports import free_ports
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import flagfall
from tests.support.truth import read

PAGE = (Path(__file__).parents[3] / "docs" / "connect.md").read_text("utf-8")
RIGHT = re.compile(r"^\| (topic|group|transactional id) \| `([^`]+)` \| ([A-Za-z, ]+) \|", re.MULTILINE)
KINDS = {
    "topic": Resource.TOPIC,
    "group": Resource.GROUP,
    "transactional id": Resource.TRANSACTIONAL_ID,
}
OPERATIONS = {operation.name.replace("_", "").lower(): operation for operation in AclOperation}
USER, TOPIC, FINALS = "connect", "imports.csv", finals_topic(ZONE_DEMAND.name)


@pytest.fixture
def guarded(users: Users, tmp_path: Path) -> Iterator[Settings]:
    """A Connect worker that comes in as a user with the rights of the page."""
    settings = users.make(KafkaRole.READER, USER)
    root = users.brokers.settings
    assert flagfall(root, "rights", "revoke", KafkaRole.READER, USER).returncode == 0
    admin = AdminClient(librdkafka_options(root.kafka))  # which ends, and its answers with it, once nothing names it
    results(admin.create_acls(list(rights_of(root))).values(), "they are given")
    ports = dict(zip(("connect_port", "registry_port"), free_ports(2), strict=True))
    services = settings.services.model_copy(update=ports)  # the registry there is none of its own
    own = settings.model_copy(update={"data_dir": tmp_path / "connect", "services": services})
    with local.supervised(own, wanted=[connect.NAME]):
        yield own


def rights_of(settings: Settings) -> Iterator[AclBinding]:
    for kind, told, operations in RIGHT.findall(PAGE):
        name = told.replace("<app>", settings.app_id)
        pattern = Pattern.PREFIXED if name.endswith("*") else Pattern.LITERAL
        for operation in operations.lower().split(", "):
            place = KINDS[kind], name.rstrip("*"), pattern, principal(USER), ANY_HOST
            yield AclBinding(*place, OPERATIONS[operation], AclPermissionType.ALLOW)


def test_a_sink_and_a_source_do_their_work_by_the_rights_of_the_page(
    users: Users, guarded: Settings, tmp_path: Path
) -> None:
    root, out, lines = users.brokers.settings, tmp_path / "finals", tmp_path / "rides.csv"
    lines.write_text("one\n")
    sink = {
        "name": "demand",
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": FINALS,
        "file": str(out),
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    }
    writer = Producer(librdkafka_options(root.kafka))
    writer.produce(FINALS, b"a final", partition=0)
    assert writer.flush(patient(30)) == 0
    begun(guarded, sink)
    begun(guarded, file_source(lines, TOPIC, TOPIC, root.topics.replication_factor))
    wait_for(lambda: out.exists() and out.read_text() == "a final\n", "the final has come out")
    wait_for(lambda: TOPIC in Cluster(root.kafka).topic_names(TOPIC), "the topic of lines is made")
    wait_for(lambda: [one.value() for one in read(root, TOPIC, 0)] == [b'{"line":"one","file":"rides.csv"}'], "a line")
    place = TopicPartition(FINALS, 0)
    done(guarded, "PUT", "stop")
    wait_for(lambda: Cluster(root.kafka).group_offsets(sink_group("demand"), [place]) != {}, "it has committed")
    done(guarded, "DELETE", "offsets")
    assert Cluster(root.kafka).group_offsets(sink_group("demand"), [place]) == {}

    assert unused(users) == []


def unused(users: Users) -> list[tuple[str, str]]:
    """Rights of the page that nobody was seen to use; a DELETE of offsets is refused without its own."""
    used = [(OPERATIONS[one.operation.lower()], one.name) for one in users.seen(USER)]
    return [
        (one.name, one.operation.name)
        for one in rights_of(users.brokers.settings)
        if one.operation is not AclOperation.DELETE
        and not any(operation is one.operation and name.startswith(one.name) for operation, name in used)
    ]


def begun(settings: Settings, configuration: dict[str, str]) -> None:
    url = f"{connect.address(settings)}/connectors/{configuration['name']}/config"
    answer = httpx.put(url, json=configuration, timeout=patient(30))
    assert answer.is_success, answer.text


def done(settings: Settings, method: str, what: str) -> None:
    answer = httpx.request(method, f"{connect.address(settings)}/connectors/demand/{what}", timeout=patient(60))
    assert answer.is_success, answer.text
