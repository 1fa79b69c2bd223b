"""Whether the tasks of a worker get on, and if not, why: what was seen at each look goes in, stalls come out.

No I/O and no clock of its own. A topic-partition is behind while its log ends above the task's position. Behind
and not moving for a while is a stall; its cause is the first thing on the way of a record that does not work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.base.setting_groups import variable
from app.domain.records import TopicPartition
from app.engine.drive.standing import Doing, GroupStanding, ProgressSample


class Cause(StrEnum):
    """Why there is no progress, as far as the worker can see."""

    BROKER_SILENT = "broker_silent"
    NOT_READY = "not_ready"
    NOT_FETCHED = "not_fetched"
    WRITING = "writing"
    BUDGET = "budget"
    REGISTRY = "registry"
    FOREIGN_TRANSACTION = "foreign_transaction"

    @property
    def is_ours(self) -> bool:
        """Whether a restart may help: all but waiting for what another must do, or for what is set."""
        return self not in (Cause.BUDGET, Cause.REGISTRY, Cause.FOREIGN_TRANSACTION)


IN_WORDS = {
    Cause.BROKER_SILENT: "no broker answers when it is asked for the ends of the logs",
    Cause.NOT_READY: "its tasks are not taken over, and nothing of their changelogs is read",
    Cause.NOT_FETCHED: "records are there, and fetching gives none of them",
    Cause.WRITING: "a transaction of this worker is open all the while; the broker does not complete it",
    Cause.BUDGET: "it waits for its turn; turns are as rare as "
    f"{variable('worker_transactions_per_second')} makes them: raise that, or have more workers share the tasks",
    Cause.REGISTRY: "schemas of records must be known, and the registry has not told of all of them yet",
    Cause.FOREIGN_TRANSACTION: "another producer's open transaction hides what follows; end or abort that transaction",
}
_BY_DOING = {
    Doing.ASKING_REGISTRY: Cause.REGISTRY,
    Doing.WRITING: Cause.WRITING,
    Doing.AWAITING_TURN: Cause.BUDGET,
    Doing.NOTHING: Cause.NOT_FETCHED,
}


@dataclass(frozen=True, slots=True)
class Ends:
    """Ends of logs: of all that was written, and of what may be read."""

    written: Mapping[TopicPartition, int]
    readable: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Stall:
    """A group that has not got on for `seconds`. `where`: the topic-partition that tells, None if it is all of it."""

    group: str
    cause: Cause
    seconds: float
    where: TopicPartition | None = None
    detail: str = ""

    def __str__(self) -> str:
        at = f" {self.where}" if self.where is not None else ""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.group}:{at} no progress for {self.seconds:.0f} s: {IN_WORDS[self.cause]}{detail}"


class GroupProgress:
    """One group's history, as far as it matters: since when each thing is as it is."""

    def __init__(self) -> None:
        self._seen: dict[object, object] = {}
        self._since: dict[object, float] = {}

    def stalls(self, look: ProgressSample, ends: Ends | None, now_seconds: float) -> list[Stall]:
        """What does not get on as of now, and for how long. `ends` None: the cluster did not answer."""
        if look.standing is GroupStanding.STOPPING:
            return []
        if ends is None:
            self._forget_all_but([*look.positions, "broker"])
            seconds = self._unchanged("broker", (look.recovered, *sorted(look.positions.items())), now_seconds)
            return [Stall(look.group, Cause.BROKER_SILENT, seconds)]
        if look.standing is not GroupStanding.READY:
            self._forget_all_but(["standing"])
            seconds = self._unchanged("standing", (look.standing, look.recovered), now_seconds)
            return [Stall(look.group, Cause.NOT_READY, seconds, detail=f"it is {look.standing}")]
        behind = [p for p, at in look.positions.items() if ends.written.get(p, at) > at and p not in look.not_due]
        self._forget_all_but(behind)
        return [self._stall(look, place, ends, now_seconds) for place in behind]

    def _stall(self, look: ProgressSample, place: TopicPartition, ends: Ends, now_seconds: float) -> Stall:
        at, end = look.positions[place], ends.written[place]
        seconds = self._unchanged(place, at, now_seconds)
        detail = f"position {at}, the log ends at {end}"
        if ends.readable.get(place, end) <= at:
            return Stall(look.group, Cause.FOREIGN_TRANSACTION, seconds, place, detail)
        cause = _BY_DOING[look.doing.get(place, Doing.NOTHING)]
        return Stall(look.group, cause, seconds, place, detail)

    def _unchanged(self, what: object, value: object, now_seconds: float) -> float:
        if self._seen.get(what) != value:
            self._seen[what], self._since[what] = value, now_seconds
        return now_seconds - self._since[what]

    def _forget_all_but(self, kept: Iterable[object]) -> None:
        wanted = set(kept)
        for what in [w for w in self._seen if w not in wanted]:
            del self._seen[what], self._since[what]


def worst(stalls: Iterable[Stall]) -> Stall | None:
    """The longest of those that a restart may help, else the longest."""
    return max(stalls, key=lambda stall: (stall.cause.is_ours, stall.seconds), default=None)
