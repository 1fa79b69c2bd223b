"""A topic as data: what it is called, what is in it, how it is kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Cleanup = Literal["delete", "compact"]

FOREVER_MS = -1
SAFE_REPLICAS = 3
"""From this replication factor on, a write waits for two copies."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One entry of the list of topics.

    `subject` is the registry's subject of the value, None where the value is no registered schema. `config` holds
    what is set beyond `cleanup` and `retention_ms`, under Kafka's names; what it does not name, the broker decides.
    `at_least`: entries that may be more than this, and are set to it where the topic is made.
    """

    name: str
    key: str
    value: str
    partitions: int
    replication_factor: int
    cleanup: Cleanup
    help: str
    retention_ms: int = FOREVER_MS
    subject: str | None = None
    config: dict[str, str] = field(default_factory=dict)
    at_least: dict[str, int] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """Every configuration entry that the topic must have, under Kafka's names."""
        return {
            "cleanup.policy": self.cleanup,
            "retention.ms": str(self.retention_ms),
            "retention.bytes": "-1",
            "message.timestamp.type": "CreateTime",
            **self.config,
            **{key: str(least) for key, least in self.at_least.items()},
        }
