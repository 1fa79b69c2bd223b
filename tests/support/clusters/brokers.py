"""Brokers that may be killed and started again, one or three, with a registry; gone with the process that has them."""

from __future__ import annotations

import base64
import contextlib
import os
import resource
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from confluent_kafka.admin import AdminClient

from app.base.addresses import LOOPBACK
from app.base.kafka.clients import as_properties, librdkafka_options
from app.base.services import kafka, processes, registry
from app.base.services.processes import Daemon
from app.base.setting_groups import TopicSettings
from app.base.settings import Settings
from tests.support.clusters.doors import Door, GuardedDoor, OpenDoor
from tests.support.machine.asking import in_time
from tests.support.machine.services import local_settings
from tests.support.machine.waiting import patient, wait_for
from tests.support.truth import cluster_of

START_SECONDS = 120.0
STOP_SECONDS = 30.0
OPEN = OpenDoor()
NONE: Mapping[str, str] = MappingProxyType({})
PROMPT = {"log.cleaner.backoff.ms": 500, "log.segment.delete.delay.ms": 1_000}
"""A compaction that is asked for comes at once."""


@dataclass
class Brokers:
    """`settings` reach the cluster; `nodes` are the brokers' own."""

    settings: Settings
    nodes: list[Settings]
    _daemons: list[Daemon]
    _owner_fd: int
    _door: Door

    def start(self, node: int = 0) -> None:
        """Start a broker again and wait until it answers."""
        daemon = self._daemons[node]
        processes.start(daemon, patient(STOP_SECONDS), self._owner_fd)
        process = processes.find(daemon.pid_file)
        assert process is not None
        deadline = time.monotonic() + patient(START_SECONDS)
        processes.await_answer(daemon, process, lambda: answers(self._door, self.nodes[node]), deadline)

    def stop(self, node: int = 0) -> None:
        """As an administrator does."""
        processes.stop(self._daemons[node].pid_file, patient(STOP_SECONDS))

    def kill(self, node: int = 0) -> None:
        """With SIGKILL; what the operating system holds of its log survives."""
        process = processes.find(self._daemons[node].pid_file)
        assert process is not None, "the broker does not run"
        process.kill()
        with in_time("the killed broker is gone"):
            process.wait(patient(STOP_SECONDS))
        processes.forget(self._daemons[node].pid_file)

    def fill(self, node: int = 0) -> None:
        """No file of the broker can grow any more, as on a full disk: it ends by itself, as it must."""
        process = processes.find(self._daemons[node].pid_file)
        assert process is not None, "the broker does not run"
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, 0))
        with in_time("the broker ends on a full disk"):
            process.wait(patient(START_SECONDS))
        processes.forget(self._daemons[node].pid_file)

    def leader_of(self, topic: str, partition: int) -> int:
        """Index of the node that leads a topic-partition; -1 while none does."""
        found = self._topics()[topic].partitions[partition].leader
        return found - 1 if found > 0 else -1

    def in_sync(self) -> bool:
        """Whether every partition has all its replicas."""
        return all(
            len(p.isrs) == len(p.replicas) and p.leader > 0
            for t in self._topics().values()
            for p in t.partitions.values()
        )

    def _topics(self) -> dict:
        admin = AdminClient({**librdkafka_options(self.settings.kafka), "log_level": 0})
        return admin.list_topics(timeout=patient(20)).topics


@contextlib.contextmanager
def running_brokers(
    folder: Path, nodes: int = 1, door: Door = OPEN, log_levels: Mapping[str, str] = NONE
) -> Iterator[Brokers]:
    """Brokers and a registry that answer. A guarded door needs three. `log_levels`: of the brokers' loggers."""
    read_fd, write_fd = os.pipe()
    base, guarded = local_settings(folder), isinstance(door, GuardedDoor)
    made = [base] if nodes == 1 else [local_settings(folder / f"node-{i + 1}", sasl=guarded) for i in range(nodes)]
    settings = base if nodes == 1 else _of_cluster(base, made, door)
    brokers = Brokers(settings, made, [], read_fd, door)
    registry_daemon = registry.daemon(settings)
    try:
        brokers._daemons += _daemons(made, door)
        for node in made:
            _log(node, log_levels)
        for daemon in brokers._daemons:  # together, as a quorum needs two
            processes.start(daemon, patient(STOP_SECONDS), read_fd)
        processes.start(registry_daemon, patient(STOP_SECONDS), read_fd)
        wait_for(lambda: all(answers(door, node) for node in made), "the brokers answer", seconds=START_SECONDS)
        wait_for(lambda: registry.answers(settings), "the registry answers", seconds=START_SECONDS)
        registry.prepare(settings)
        yield brokers
    finally:
        cluster_of.cache_clear()
        for daemon in (registry_daemon, *brokers._daemons):
            process = processes.find(daemon.pid_file)
            if process is not None:
                process.kill()  # its data is thrown away
                process.wait(patient(STOP_SECONDS))
            processes.forget(daemon.pid_file)
        os.close(read_fd)
        os.close(write_fd)


def answers(door: Door, node: Settings) -> bool:
    """Whether a broker tells its cluster by this door."""
    return kafka.reachable(node.model_copy(update={"kafka": door.kafka([node])}))


def _of_cluster(base: Settings, nodes: list[Settings], door: Door) -> Settings:
    return base.model_copy(
        update={
            "kafka": door.kafka(nodes),
            "topics": TopicSettings(partitions=base.topics.partitions, replication_factor=len(nodes)),
        }
    )


def _daemons(nodes: list[Settings], door: Door) -> list[Daemon]:
    cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    if len(nodes) > 1:
        for at, node in enumerate(nodes):
            _format(node, _properties(nodes, at) | door.properties(node), cluster_id, door.format_options())
    daemons = [kafka.daemon(node) for node in nodes]
    for at, node in enumerate(nodes):
        (node.data_dir / kafka.NAME / "server.properties").write_text(
            as_properties(_properties(nodes, at) | door.properties(node))
        )
    return daemons


def _properties(nodes: list[Settings], at: int) -> dict[str, str | int]:
    """What the project's own broker has; of three brokers each keeps a copy of everything."""
    alone = kafka.configuration(nodes[at]) | PROMPT
    if len(nodes) == 1:
        return alone
    voters = ",".join(f"{i + 1}@{LOOPBACK}:{n.services.kafka_controller_port}" for i, n in enumerate(nodes))
    return alone | {
        "node.id": at + 1,
        "controller.quorum.voters": voters,
        "offsets.topic.replication.factor": 3,
        "transaction.state.log.replication.factor": 3,
        "transaction.state.log.min.isr": 2,
        "min.insync.replicas": 2,
        "controlled.shutdown.enable": "true",
        "broker.session.timeout.ms": 3_000,
        "broker.heartbeat.interval.ms": 500,
    }


def _log(node: Settings, levels: Mapping[str, str]) -> None:
    with (node.data_dir / kafka.NAME / "log4j2.properties").open("a") as told:
        for at, (logger, level) in enumerate(levels.items()):
            told.write(f"logger.l{at}.name = {logger}\nlogger.l{at}.level = {level}\n")


def _format(node: Settings, properties: dict[str, str | int], cluster_id: str, options: Sequence[str]) -> None:
    """A data directory of this cluster."""
    folder = node.data_dir / kafka.NAME
    folder.mkdir(parents=True)
    path = folder / "server.properties"
    path.write_text(as_properties(properties))
    archive = kafka.class_archive(node)
    java = [str(archive.java.executable), *archive.options(), "-XX:TieredStopAtLevel=1", "-cp", archive.class_path]
    command = [*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "--config", str(path)]
    subprocess.run([*command, *options], check=True, capture_output=True)
