"""What a worker knows of tasks: those it owns, who owns the others, and whether it may answer.

The engine fills it; the HTTP edge reads it. One object per worker process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.engine.state import TaskState


class Standing(StrEnum):
    """Whether a worker's answers can be trusted now."""

    STARTING = "starting"  # no assignment yet
    REBALANCING = "rebalancing"  # partitions are being handed over
    RECOVERING = "recovering"  # reading changelogs
    READY = "ready"
    LOST = "lost"  # no accepted heartbeat within the session timeout
    STOPPING = "stopping"


@dataclass
class Directory:
    """Tasks of one source as seen by this worker.

    `tasks`: those owned here and taken over, by partition. `owners`: base URL of the worker that owns each
    partition, as of the last rebalance. `partitions`: how many tasks the source has. `log_end`: end offsets last
    seen, per topic and partition, for the lag in answers.
    """

    url: str
    partitions: int = 0
    standing: Standing = Standing.STARTING
    tasks: dict[int, TaskState] = field(default_factory=dict)
    owners: Mapping[int, str] = field(default_factory=dict)
    log_end: dict[tuple[str, int], int] = field(default_factory=dict)
    last_commit_ms: float | None = None

    @property
    def ready(self) -> bool:
        """Whether queries may be answered from here."""
        return self.standing is Standing.READY
