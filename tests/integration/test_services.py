"""The real broker and the real registry, started, stopped and found again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from app.base.kafka.clients import aiokafka_options, as_properties, java_options, librdkafka_options
from app.base.services import local, processes
from app.base.services.errors import PortInUse
from app.base.services.jars import jar_paths
from app.base.services.java import find_java
from app.base.setting_groups import KafkaSettings
from app.base.settings import Settings
from app.edge.cli.main import run
from tests.support.machine.asking import flush, in_time, results
from tests.support.machine.services import local_settings, running_services
from tests.support.machine.waiting import patient, wait_for

CHECKOUT = Path(__file__).parents[2]
RECORD = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
SUPERVISING = """
import sys
from app.base.services import local
from app.base.settings import Settings
with local.supervised(Settings.load(), lambda text: print(text, flush=True)):
    print("all up", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def sasl_services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with running_services(tmp_path_factory.mktemp("sasl"), sasl=True) as settings:
        yield settings


@pytest.fixture(params=["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def sasl(sasl_services: Settings, request: pytest.FixtureRequest) -> KafkaSettings:
    services = sasl_services.services
    return KafkaSettings(
        bootstrap_server=f"127.0.0.1:{services.sasl_port}",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=request.param,
        sasl_username=services.sasl_username,
        sasl_password=services.sasl_password,
    )


def states(settings: Settings) -> dict[str, str]:
    return {one.name: one.state for one in local.status(settings)}


def tree(settings: Settings) -> list[psutil.Process]:
    roots = [psutil.Process(one.pid) for one in local.status(settings) if one.pid]
    return [process for root in roots for process in (root, *root.children(recursive=True))]


def find_broker(data_dir: Path) -> psutil.Process:
    found = processes.find(data_dir / "kafka.pid.json")
    assert found is not None
    return found


def kill(process: psutil.Process) -> None:
    process.kill()
    with in_time("the killed process is gone"):
        process.wait(patient(60))


def test_data_and_schemas_survive_a_restart(tmp_path: Path) -> None:
    """Both together, as a record names its schema by number; and a second `up` changes nothing."""
    settings = local_settings(tmp_path)
    try:
        assert states(settings) == {"kafka": "stopped", "registry": "stopped"}
        assert local.up(settings) == ["kafka", "registry"]
        assert states(settings) == {"kafka": "running", "registry": "running"}
        before = tree(settings)
        assert local.up(settings) == []
        assert tree(settings) == before

        admin = AdminClient(librdkafka_options(settings.kafka))
        results(admin.create_topics([NewTopic("kept", 1, 1)]).values(), "the topic is made")
        producer = Producer(librdkafka_options(settings.kafka))
        producer.produce("kept", b"value", timestamp=1_262_304_000_000)  # 2010: before any retention
        flush(producer)
        number = SchemaRegistryClient({"url": settings.registry_url}).register_schema(
            "kept-value", Schema(json.dumps(RECORD), "AVRO")
        )

        assert local.down(settings) == ["registry", "kafka"]
        assert states(settings) == {"kafka": "stopped", "registry": "stopped"}
        assert not any(process.is_running() for process in before)

        assert local.up(settings) == ["kafka", "registry"]
        with in_time("the broker tells its topics"):
            topics = AdminClient(librdkafka_options(settings.kafka)).list_topics(timeout=patient(60)).topics
        assert "kept" in topics
        found = SchemaRegistryClient({"url": settings.registry_url}).get_latest_version("kept-value")
        assert found.schema_id == number
    finally:
        local.down(settings)


def test_a_killed_broker_is_started_again_and_status_says_what_became_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its keeper; where that was killed too, by the next `up`."""
    settings = local_settings(tmp_path)
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    told: list[str] = []
    try:
        local.up(settings)
        kill(find_broker(tmp_path))
        wait_for(lambda: states(settings)["kafka"] == "running", "its keeper has started the broker again")
        assert run(["services", "status"]) == 0
        assert "started again once since `flagfall services up`" in capsys.readouterr().out

        kill(psutil.Process(json.loads((tmp_path / "kafka.pid.json").read_text())["keeper"]))
        kill(find_broker(tmp_path))
        assert states(settings) == {"kafka": "stale", "registry": "running"}
        assert run(["services", "status"]) == 1
        assert "`flagfall services up` starts it again" in capsys.readouterr().out
        assert local.up(settings, told.append) == ["kafka"]
        assert any(text.startswith("kafka: ended without") for text in told)
        assert states(settings) == {"kafka": "running", "registry": "running"}
    finally:
        local.down(settings)


def test_a_taken_port_stops_the_start_and_leaves_nothing(tmp_path: Path) -> None:
    """The registry's port is found taken after the broker was started: that one is stopped again."""
    settings = local_settings(tmp_path)
    with socket.create_server(("127.0.0.1", settings.services.registry_port)):
        with pytest.raises(PortInUse, match="FLAGFALL_SERVICES_REGISTRY_PORT"):
            local.up(settings)
        assert states(settings) == {"kafka": "stopped", "registry": "stopped"}
        assert processes.port_is_free(settings.services.kafka_port)


def test_every_listening_socket_is_loopback(sasl_services: Settings) -> None:
    listening = [
        connection.laddr
        for process in tree(sasl_services)
        for connection in process.net_connections("all")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert {address.ip for address in listening} == {"127.0.0.1"}
    expected = {port for one in local.BASIC for port in one.ports(sasl_services.services).values()}
    assert {address.port for address in listening} == expected


@pytest.mark.parametrize(
    ("moment", "how"),
    [
        ("kafka: started", signal.SIGINT),
        ("kafka: started", signal.SIGTERM),
        ("kafka: started", signal.SIGKILL),
        ("registry: started", signal.SIGKILL),
        ("all up", signal.SIGKILL),
    ],
)
def test_services_die_with_their_owner(tmp_path: Path, moment: str, how: signal.Signals) -> None:
    """However and whenever it ends: in the middle of the start, or later."""
    settings = local_settings(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | settings.environment() | {"PYTHONPATH": str(CHECKOUT)},
    ) as owner:
        assert owner.stdout is not None
        assert any(line.startswith(moment) for line in owner.stdout)
        records = [json.loads(path.read_text()) for path in tmp_path.glob("*.pid.json")]
        started = [psutil.Process(record[who]) for record in records for who in ("pid", "keeper")]
        assert started
        owner.send_signal(how)
    wait_for(lambda: psutil.wait_procs(started, timeout=0)[1] == [], "the services have ended")
    assert states(settings) == {"kafka": "stopped", "registry": "stopped"}


def test_the_registry_refuses_incompatible_schemas(sasl_services: Settings) -> None:
    """Apicurio's default would take anything."""
    client = SchemaRegistryClient({"url": sasl_services.registry_url})
    assert client.get_config().compatibility_level == "FULL_TRANSITIVE"
    client.register_schema("strict-value", Schema(json.dumps(RECORD), "AVRO"))
    other = {**RECORD, "fields": [{"name": "b", "type": "int"}]}
    with pytest.raises(SchemaRegistryError):
        client.register_schema("strict-value", Schema(json.dumps(other), "AVRO"))


def test_an_undeclared_topic_is_not_made_up(sasl_services: Settings) -> None:
    with in_time("the broker tells of the topic"):
        found = AdminClient(librdkafka_options(sasl_services.kafka)).list_topics("misspelt", timeout=patient(60))
    assert found.topics["misspelt"].error is not None


def test_librdkafka_passes_the_password(sasl: KafkaSettings) -> None:
    assert AdminClient(librdkafka_options(sasl)).list_topics(timeout=patient(60)).brokers


def test_aiokafka_passes_the_password(sasl: KafkaSettings) -> None:
    from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

    async def connect() -> set[int]:
        async with AIOKafkaProducer(**aiokafka_options(sasl)) as producer:
            return {broker.nodeId for broker in producer.client.cluster.brokers()}

    assert asyncio.run(connect()) == {1}


def test_java_passes_the_password(sasl: KafkaSettings, sasl_services: Settings, tmp_path: Path) -> None:
    """With a class of Kafka's own; the file keeps the password's quotes and backslashes."""
    (properties := tmp_path / "client.properties").write_text(as_properties(java_options(sasl)))
    class_path = ":".join(map(str, jar_paths("kafka", sasl_services.cache_dir)))
    asked = [
        *(str(find_java().executable), "-cp", class_path, "kafka.admin.ConfigCommand", "--describe"),
        *("--entity-type", "brokers", "--entity-name", "1"),
        *("--bootstrap-server", sasl.bootstrap_server, "--command-config", str(properties)),
    ]
    told = subprocess.run(asked, capture_output=True, check=False, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "broker 1" in told.stdout


def test_a_wrong_password_is_refused(sasl: KafkaSettings) -> None:
    wrong = sasl.model_copy(update={"sasl_password": type(sasl.sasl_password)("wrong")})
    told: set[int] = set()
    options = librdkafka_options(wrong) | {"log_level": 0, "error_cb": lambda error: told.add(error.code())}
    admin = AdminClient(options)
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=patient(3))
    wait_for(lambda: admin.poll(0) is not None and KafkaError._AUTHENTICATION in told, "it is told what is wrong")
