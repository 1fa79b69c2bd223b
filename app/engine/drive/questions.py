"""What watches, checks and the HTTP side ask of a worker's parts: who asks, on which thread, and what may block.

"The loop" is the worker's event loop, as in `callbacks`. What is asked on it gives what stands there already.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from app.base.kafka.group_members import Member
    from app.domain.marker import Marker
    from app.engine.drive.kafka.schemas import Awaited
    from app.engine.drive.runner import TaskRunner
    from app.engine.drive.standing import ProgressSample


class Check(Protocol):
    """Raises what keeps the worker from joining its group.

    `start_checks.require` calls it in a thread, before the group is joined; again and again while it raises
    KafkaUnavailable, for half a minute. All else that it raises ends the worker. It may block.
    """

    def __call__(self) -> None: ...


class AskMembers(Protocol):
    """Who is in the consumer group now, as its coordinator tells.

    Called in a thread, for the broker is asked. Raises GroupUnknown. Of a group that nobody tells of just now,
    `OwnAddress` is given nobody, and `StoppedGroup`, which must not take that for an empty one, GroupSilent.
    """

    def __call__(self) -> Sequence[Member]: ...


class AskAssigned(Protocol):
    """The partitions whose tasks are assigned here; `Standby` asks on the loop before it reads the others on."""

    def __call__(self) -> Collection[int]: ...


class AskRunners(Protocol):
    """The runners of a group's tasks here, by partition; `IdleWatch` asks on the loop, each time it looks."""

    def __call__(self) -> Mapping[int, TaskRunner]: ...


class AskBegun(Protocol):
    """The marker with which each task of a group last began here, also once it has been handed over.

    `InputWatch` asks on the loop, for each topic that it was told of.
    """

    def __call__(self) -> Mapping[int, Marker]: ...


class AskProgress(Protocol):
    """Each task group as it is now; `Liveness` asks on the loop, several times in the shortest stall that is told."""

    def __call__(self) -> Iterable[ProgressSample]: ...


class AskAwaited(Protocol):
    """The schema ids that tasks wait for, the longest first; `/readyz` asks on the loop, for each request."""

    def __call__(self) -> Sequence[Awaited]: ...
