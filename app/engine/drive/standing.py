"""How a group, a task and its runner stand: what those who watch them, and those who answer, are told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from app.domain.records import TopicPartition
from app.engine.core.batch import Batch


class GroupStanding(StrEnum):
    """Whether answers from a task group can be trusted now."""

    STARTING = "starting"  # no assignment yet
    REBALANCING = "rebalancing"  # partitions are being handed over
    RECOVERING = "recovering"  # reading changelogs
    READY = "ready"
    LOST = "lost"  # no accepted heartbeat within the session timeout
    STOPPING = "stopping"


class Doing(StrEnum):
    """What a task's runner is at."""

    NOTHING = "nothing"
    ASKING_REGISTRY = "asking_registry"
    WRITING = "writing"
    AWAITING_TURN = "awaiting_turn"


class Stood(NamedTuple):
    """What a task was at when it failed: the batches that it was folding, none if it was at something else; of each
    topic of which something waits, the next batch; and where it stands, by topic."""

    folded: Sequence[Batch]
    ahead: Sequence[Batch]
    positions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProgressSample:
    """A task group as it was seen once. `recovered` grows while changelogs are read.

    `not_due`: where the next record must wait for records of other topics, which may not have been written yet.
    """

    group: str
    standing: GroupStanding
    recovered: int = 0
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    doing: Mapping[TopicPartition, Doing] = field(default_factory=dict)
    not_due: Collection[TopicPartition] = ()
