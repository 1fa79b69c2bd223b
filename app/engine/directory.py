"""What a worker knows of tasks: those it owns, who owns the others, and whether it may answer.

The engine fills it; the HTTP edge reads it. One object per worker process.
"""

from __future__ import annotations

import math
import time
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
    session_timeout_seconds: float = math.inf
    heartbeat_at_seconds: float | None = None

    @property
    def ready(self) -> bool:
        """Whether queries may be answered from here."""
        return self.standing is Standing.READY and not self.lost

    @property
    def lost(self) -> bool:
        """Whether the group may have given this worker's tasks away: no accepted heartbeat within the session.

        Asked anew each time, by the monotonic clock, so that a worker that was stopped for a while knows it at once.
        """
        if self.heartbeat_at_seconds is None:
            return False
        return time.monotonic() - self.heartbeat_at_seconds > self.session_timeout_seconds
