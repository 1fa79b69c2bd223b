"""One Apache Kafka node (KRaft: broker and controller in one process), set up for a small machine."""

from __future__ import annotations

import base64
import subprocess
import uuid
from pathlib import Path

from app.base.addresses import LOOPBACK
from app.base.kafka.clients import as_properties, jaas, librdkafka_options
from app.base.service_settings import ServicesSettings
from app.base.services.class_archives import ClassArchive
from app.base.services.errors import StartFailed
from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.services.processes import Daemon
from app.base.setting_groups import KafkaSettings
from app.base.settings import Settings

NAME = "kafka"
REQUEST_TIMEOUT_SECONDS = 5.0
LEADER_STAYS = ("--feature", "eligible.leader.replicas.version=0")
"""A partition of one replica keeps its leader while the broker is away. Without one, Kafka 4.3 takes a partition for
deleted, and ends a transaction without a word to it: what it wrote there stays open for ever (docs/operations.md)."""
LOG4J = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %m (%c{1})%n
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
"""


def ports(services: ServicesSettings) -> dict[str, int]:
    """What the broker listens on, by field."""
    found = {name: getattr(services, name) for name in ("kafka_port", "kafka_controller_port", "sasl_port")}
    return {name: port for name, port in found.items() if port is not None}


def is_here(settings: Settings) -> bool:
    """Whether the cluster that is set is the broker on this machine."""
    ours = {settings.services.kafka_port, settings.services.sasl_port}
    return settings.kafka.bootstrap_server in {f"{host}:{port}" for host in (LOOPBACK, "localhost") for port in ours}


def address(settings: Settings) -> str:
    """Of the cluster that is set."""
    return settings.kafka.bootstrap_server


def daemon(settings: Settings) -> Daemon:
    """The broker, its data directory formatted and its configuration written. Raises JarError,
    JavaNotFound."""
    folder = settings.data_dir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    archive = class_archive(settings)
    java = [str(archive.java.executable), *archive.options()]
    java += [f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"]
    java += ["-Djava.net.preferIPv4Stack=true", "-Djava.awt.headless=true", "-cp", archive.class_path]
    (folder / "log4j2.properties").write_text(LOG4J)
    properties = folder / "server.properties"
    properties.touch(mode=0o600)
    properties.write_text(as_properties(configuration(settings)))
    if not (folder / "data" / "meta.properties").exists():
        _format([*java, "kafka.tools.StorageTool", "format"], properties)
    heap = f"-Xmx{settings.services.kafka_heap_mb}m"
    return Daemon(
        NAME,
        (java[0], heap, "-XX:+ExitOnOutOfMemoryError", *java[1:], "kafka.Kafka", str(properties)),
        settings.data_dir / "logs" / f"{NAME}.log",
        settings.data_dir / f"{NAME}.pid.json",
        ports(settings.services),
    )


def class_archive(settings: Settings) -> ClassArchive:
    """Of the broker, whether made or not. Raises JarError, JavaNotFound."""
    class_path = ":".join(str(path) for path in fetch(NAME, settings.cache_dir))
    return ClassArchive(NAME, find_java(), class_path, settings.cache_dir)


def configuration(settings: Settings) -> dict[str, str | int]:
    """``server.properties``. What is not named stays as Kafka ships it, retention among it."""
    services = settings.services
    clients = {"PLAINTEXT": services.kafka_port}
    if services.sasl_port is not None:
        clients["SASL_PLAINTEXT"] = services.sasl_port
    advertised = ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in clients.items())
    controller = f"{LOOPBACK}:{services.kafka_controller_port}"
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{advertised},CONTROLLER://{controller}",
        "advertised.listeners": advertised,
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": ",".join(
            f"{name}:{'PLAINTEXT' if name == 'CONTROLLER' else name}" for name in ("CONTROLLER", *clients)
        ),
        "log.dirs": str(settings.data_dir / NAME / "data"),
        # a topic that nobody declared is a spelling mistake
        "auto.create.topics.enable": "false",
        # one node: internal topics cannot have three copies, and need few partitions
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 1,
        # alone, it has nobody to hand its partitions to: they keep their leader (LEADER_STAYS)
        "controlled.shutdown.enable": "false",
        # so one that is started again waits until its controller has given up the one before; Kafka's own 9 s are
        # for brokers that others wait for
        "broker.session.timeout.ms": 4_000,
        "broker.heartbeat.interval.ms": 1_000,
        # a group of two workers need not wait three seconds for a third
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": services.min_session_timeout_ms,
        # where a task's transactions follow each other closely, the end of one is still being written when rows of the
        # next arrive; Kafka's own 20 ms are ten times what a small one takes
        "add.partitions.to.txn.retry.backoff.ms": 2,
        # of a small heap; Kafka's own 128 MB would be a quarter of it
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        "num.network.threads": 2,
        "num.io.threads": 4,
        **(_sasl(services) if services.sasl_port is not None else {}),
    }


def answers(settings: Settings) -> bool:
    """Whether the local broker tells its topics, by the listener without a password."""
    return _tells_brokers(KafkaSettings(bootstrap_server=settings.local_kafka), timeout_seconds=1.0)


def reachable(settings: Settings) -> bool:
    """Whether the cluster that is set tells its brokers, with the protocol and password that are set."""
    return _tells_brokers(settings.kafka, REQUEST_TIMEOUT_SECONDS)


def prepare(settings: Settings) -> None:
    """Give the SASL listener's user, where there is one, the set password, for both SCRAM mechanisms."""
    if settings.services.sasl_port is None:
        return
    from confluent_kafka.admin import (
        AdminClient,
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )

    services = settings.services
    password = services.sasl_password.get_secret_value().encode()
    changes = [
        UserScramCredentialUpsertion(services.sasl_username, ScramCredentialInfo(mechanism, 4096), password)
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
    ]
    admin = AdminClient(_quiet(KafkaSettings(bootstrap_server=settings.local_kafka)))
    for change in changes:  # one user may occur once in a request
        for future in admin.alter_user_scram_credentials([change]).values():
            future.result(REQUEST_TIMEOUT_SECONDS)


def _tells_brokers(kafka: KafkaSettings, timeout_seconds: float) -> bool:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        return bool(AdminClient(_quiet(kafka)).list_topics(timeout=timeout_seconds).brokers)
    except KafkaException:
        return False


def _sasl(services: ServicesSettings) -> dict[str, str | int]:
    listener = "listener.name.sasl_plaintext"
    module = "org.apache.kafka.common.security"
    password = services.sasl_password.get_secret_value()
    scram = jaas(f"{module}.scram.ScramLoginModule")
    return {
        f"{listener}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        f"{listener}.plain.sasl.jaas.config": jaas(
            f"{module}.plain.PlainLoginModule", **{f"user_{services.sasl_username}": password}
        ),
        f"{listener}.scram-sha-256.sasl.jaas.config": scram,
        f"{listener}.scram-sha-512.sasl.jaas.config": scram,
    }


def _format(storage_tool: list[str], properties: Path) -> None:
    cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    run = [storage_tool[0], "-XX:TieredStopAtLevel=1", *storage_tool[1:]]
    # with "=", because an id may begin with a dash and would be taken for an option
    told = subprocess.run(
        [*run, f"--cluster-id={cluster_id}", "--config", str(properties), *LEADER_STAYS],
        capture_output=True,
        check=False,
        text=True,
    )
    if told.returncode:
        raise StartFailed(f"Kafka could not set up its data directory ({properties}):\n{told.stdout}{told.stderr}")


def _quiet(kafka: KafkaSettings) -> dict[str, str | int | float | bool]:
    """librdkafka prints each refused connection otherwise; refusals are expected while a broker starts."""
    return {
        **librdkafka_options(kafka),
        "log_level": 0,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 200,
    }
