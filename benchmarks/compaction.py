"""Compaction by a local broker, when it is wanted and to be waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from app.base.kafka.administrator import admin_client
from app.base.settings import Settings

_TOPIC = {
    "min.cleanable.dirty.ratio": "0.0001",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "1000",
    "delete.retention.ms": "0",
    "segment.ms": "1000",
}
_BROKER = {"log.cleaner.backoff.ms": "500"}
WITHIN_SECONDS = 900.0


def compact(settings: Settings, topic: str, roll: Callable[[], Mapping[int, int]]) -> float:
    """Let the broker compact the topic up to now; gives the seconds that it took.

    `roll` writes a record into each partition, which closes the segment before it, and gives the record's offsets.
    A tombstone goes with the second compaction after it, as Kafka has it.
    """
    began, admin = time.monotonic(), admin_client(settings.kafka)
    _configure(admin, ResourceType.TOPIC, topic, _TOPIC)
    for broker in admin.list_topics(timeout=10).brokers:
        _configure(admin, ResourceType.BROKER, str(broker), _BROKER)
    time.sleep(1.1)  # the segment's time, so that the next record begins another
    ends = roll()
    while not _cleaned(settings.data_dir, topic, ends):
        if time.monotonic() - began > WITHIN_SECONDS:
            raise SystemExit(f"{topic} was not compacted within {WITHIN_SECONDS:.0f} s")
        time.sleep(0.2)
    return time.monotonic() - began


def log_bytes(settings: Settings, topic: str) -> int:
    """What the topic's segments take on the broker's disk."""
    logs = (path for path in settings.data_dir.rglob("*.log") if path.parent.name.rpartition("-")[0] == topic)
    return sum(path.stat().st_size for path in logs)


def _configure(admin: AdminClient, kind: ResourceType, name: str, values: Mapping[str, str]) -> None:
    entries = [ConfigEntry(key, held, incremental_operation=AlterConfigOpType.SET) for key, held in values.items()]
    one = ConfigResource(kind, name, incremental_configs=entries)
    admin.incremental_alter_configs([one])[one].result(30)


def _cleaned(data_dir: Path, topic: str, ends: Mapping[int, int]) -> bool:
    """Whether the broker's cleaner has come to the last record before these, by its own note."""
    for note in data_dir.rglob("cleaner-offset-checkpoint"):
        lines = [line.split() for line in note.read_text().splitlines()]
        told = {(line[0], int(line[1])): int(line[2]) for line in lines if len(line) == 3}
        if all(told.get((topic, partition), 0) >= end for partition, end in ends.items()):
            return True
    return False
