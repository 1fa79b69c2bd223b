"""Kafka Connect, one distributed worker: its REST API on this machine, its state in topics of the application.

Connectors are given to it over that API (docs/connect.md). It runs with Kafka's jars and its own; Debezium's JDBC sink
is a plugin, with a class loader of its own.
"""

from __future__ import annotations

from typing import Any

from app.base import names
from app.base.addresses import LOOPBACK
from app.base.asking import Unanswered, get
from app.base.kafka.clients import as_properties, java_options
from app.base.service_settings import ServicesSettings
from app.base.services import kafka
from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.services.processes import Daemon
from app.base.settings import Settings

NAME = "connect"
SINK_SET = "connect-jdbc"
"""Of jars: Debezium's JDBC sink, as its archive has it."""
ENVIRONMENT = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
JSON = "org.apache.kafka.connect.json.JsonConverter"


def ports(services: ServicesSettings) -> dict[str, int]:
    """What its REST API listens on, by field."""
    return {"connect_port": services.connect_port}


def is_here(settings: Settings) -> bool:
    """Always: it is asked for by name, and works for the cluster that is set, wherever that is."""
    return True


def address(settings: Settings) -> str:
    """Of its REST API."""
    return f"http://{LOOPBACK}:{settings.services.connect_port}"


def daemon(settings: Settings) -> Daemon:
    """A worker, its configuration written. Raises JarError, JavaNotFound, CertificateUnusable."""
    folder = settings.data_dir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (plugins,) = fetch(SINK_SET, settings.cache_dir)
    jars = [*fetch(kafka.NAME, settings.cache_dir), *fetch(NAME, settings.cache_dir)]
    (folder / "log4j2.properties").write_text(kafka.LOG4J)
    properties = folder / "worker.properties"
    properties.touch(mode=0o600)
    properties.write_text(as_properties(configuration(settings) | {"plugin.path": str(plugins)}))
    java = [str(find_java().executable), f"-Xmx{settings.services.connect_heap_mb}m", "-XX:+ExitOnOutOfMemoryError"]
    java += [f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"]
    java += ["-Djava.net.preferIPv4Stack=true", "-Djava.awt.headless=true", "-cp", ":".join(map(str, jars))]
    return Daemon(
        NAME,
        (*java, "org.apache.kafka.connect.cli.ConnectDistributed", str(properties)),
        settings.data_dir / "logs" / f"{NAME}.log",
        settings.data_dir / f"{NAME}.pid.json",
        ports(settings.services),
    )


def configuration(settings: Settings) -> dict[str, Any]:
    """``worker.properties``, without where the plugins lie. What is not named stays as Kafka ships it."""
    copies = settings.topics.replication_factor
    client = java_options(settings.kafka)
    state = {
        f"{what}.storage.{field}": value
        for what, topic in names.connect_topics(settings.app_id).items()
        for field, value in (
            ("topic", topic),
            ("replication.factor", copies),
        )
    }
    return {
        **client,
        **{f"{who}.{option}": value for who in ("producer", "consumer", "admin") for option, value in client.items()},
        **state,
        "group.id": names.connect_group(settings.app_id),
        "listeners": address(settings),
        "rest.advertised.host.name": LOOPBACK,
        # one worker on one machine: internal topics need few partitions
        "offset.storage.partitions": 1,
        "status.storage.partitions": 1,
        # what a source writes and how far it is, in one transaction
        "exactly.once.source.support": "enabled",
        # finals are committed or they are not there
        "consumer.isolation.level": "read_committed",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        # so that passwords stand in no connector's configuration: ${env:PGPASSWORD}; of this process's other variables
        # none can be read so
        "config.providers": "env",
        "config.providers.env.class": ENVIRONMENT,
        "config.providers.env.param.allowlist.pattern": "PG.*",
        # one that is gone is not waited for longer than this; its own 5 minutes are for clusters of many
        "scheduled.rebalance.max.delay.ms": 10_000,
        "plugin.discovery": "service_load",
    }


def answers(settings: Settings) -> bool:
    """Whether it tells its connectors: it does once it has read its topics."""
    try:
        return get(f"{address(settings)}/connectors", timeout_seconds=2.0).is_ok
    except Unanswered:
        return False


def reachable(settings: Settings) -> bool:
    """As `answers`: there is no other one."""
    return answers(settings)


def prepare(settings: Settings) -> None:
    """Nothing: connectors are its users' to create, and it remembers them."""
