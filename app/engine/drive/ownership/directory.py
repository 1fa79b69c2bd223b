"""What a worker knows of tasks: those it owns, who owns the others, and whether it may answer.

The engine fills it; the HTTP edge reads it. One `Membership` per worker process, one `Directory` per task group.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from app.domain.marker import InputPosition
from app.engine.core.task_state import TaskState
from app.engine.drive.standing import GroupStanding


@dataclass
class Membership:
    """The worker's place in its consumer group: when a heartbeat was last accepted (monotonic clock)."""

    session_timeout_seconds: float = math.inf
    heartbeat_at_seconds: float | None = None

    def heartbeat_accepted(self, at_seconds: float) -> None:
        """The group still counts this worker in."""
        self.heartbeat_at_seconds = at_seconds

    @property
    def lost(self) -> bool:
        """Whether the group may have given this worker's tasks away: no accepted heartbeat within the session.

        Asked anew each time, by the monotonic clock, so that a worker that was stopped for a while knows it at once.
        """
        if self.heartbeat_at_seconds is None:
            return False
        return time.monotonic() - self.heartbeat_at_seconds > self.session_timeout_seconds


class LastKnown(NamedTuple):
    """A committed state of a task, in which is what had come by that moment (monotonic), or what its owner, which was
    this worker, had read of it."""

    state: TaskState
    at_seconds: float

    @property
    def age_seconds(self) -> float:
        """What came since may be so old."""
        return time.monotonic() - self.at_seconds


@dataclass
class Directory:
    """Tasks of one group as seen by this worker.

    `tasks`: those owned here and taken over, by partition. `owners`: base URL of the worker that owns each
    partition, as of the last rebalance. `partitions`: how many tasks the group has. `standing`: as the engine last
    left it. `log_end`: end offsets last seen, per topic and partition, for the lag in answers. `recovering`: of tasks
    that are being taken over, how many offsets of their changelogs were read, of how many. `standby`: up to which
    offset the changelogs of tasks that others own are held here, warm. `copies`: states of those, and of tasks that
    are being handed over, which are not answered from as if they were the task's. `took_over_seconds`: how long the
    last take-over took, None before the first; `replayed_records`: of changelogs, read in all take-overs.
    """

    url: str
    partitions: int = 0
    standing: GroupStanding = GroupStanding.STARTING
    tasks: dict[int, TaskState] = field(default_factory=dict)
    owners: Mapping[int, str] = field(default_factory=dict)
    log_end: dict[tuple[str, int], int] = field(default_factory=dict)
    membership: Membership = field(default_factory=Membership)
    recovering: dict[int, tuple[int, int]] = field(default_factory=dict)
    standby: dict[int, int] = field(default_factory=dict)
    copies: dict[int, LastKnown] = field(default_factory=dict)
    took_over_seconds: float | None = None
    replayed_records: int = 0

    @property
    def standing_now(self) -> GroupStanding:
        """The standing; a ready group whose worker lost its heartbeat, or that has no partitions, is not ready."""
        if self.standing is not GroupStanding.READY:
            return self.standing
        if self.membership.lost:
            return GroupStanding.LOST
        return GroupStanding.READY if self.partitions > 0 else GroupStanding.STARTING

    def lag_records(self, topic: str, partition: int, position: InputPosition) -> int | None:
        """How many offsets of a topic-partition a task has not read; None where the log's end is not known."""
        end = self.log_end.get((topic, partition))
        return None if end is None else max(0, end - position.next_offset)

    def hand_over(self, states: Mapping[int, TaskState]) -> None:
        """No task is owned here any more; these are how they were left."""
        now, self.tasks = time.monotonic(), {}
        self.copies |= {partition: LastKnown(state, now) for partition, state in states.items()}

    def last_known(self, partition: int) -> LastKnown | None:
        """Of a task that is not answered from here now."""
        if (task := self.tasks.get(partition)) is None:
            return self.copies.get(partition)
        heartbeat_at_seconds = self.membership.heartbeat_at_seconds
        return LastKnown(task, time.monotonic() if heartbeat_at_seconds is None else heartbeat_at_seconds)

    @property
    def ready(self) -> bool:
        """Whether every task that is owned here is taken over."""
        return self.standing_now is GroupStanding.READY

    @property
    def answers(self) -> bool:
        """Whether queries may be answered from `tasks`: all of them, or those that are taken over already."""
        return self.ready or (
            self.standing is GroupStanding.RECOVERING and not self.membership.lost and bool(self.tasks)
        )
