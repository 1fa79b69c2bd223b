"""The committed state of a task: all that its changelog says, at one marker.

Everything that queries see is changed on one event loop, between awaits: whoever reads between two awaits sees exactly
one marker's state. What a transaction does is built aside as effects, in a thread that reads this state, and swapped in
on the loop after its commit. What only saves looking twice is the planning thread's own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from app.codecs.stored.closings import Mark
from app.domain.marker import Marker
from app.engine.core.rows.halves import HeldHalves
from app.engine.core.rows.open_rows import OpenRows
from app.engine.core.rows.state import ViewChange, ViewState

Total = tuple[int, int]
"""Count and fingerprint."""


class Telling(NamedTuple):
    """Rows that are open at `to_us` are being told before the mark moves there: those are that begin by `told_us`."""

    to_us: int
    told_us: int | None

    @property
    def is_done(self) -> bool:
        return self.told_us is not None and self.told_us >= self.to_us


@dataclass
class TaskState:
    """What queries see and what the next batch builds on.

    `marker_offset` is the offset of the marker's record in the task's changelog partition; -1 before any.
    `closings`: rows of closed windows that wait for all tasks' `marks` (by view, then task); `open_rows`: what may
    still become one with them. `finals`: those published, as long as they may be revised. `halves`: what joins
    remember and alerts watch.
    `looked_to` only saves looking twice, `telling` telling twice. `is_ahead`: the marker says more than its log does,
    as whoever took the task over obeys other rules or keeps other views. `quarantined`: records by topic and reason,
    since the task was taken over.
    """

    marker: Marker
    views: dict[str, ViewState]
    marker_offset: int = -1
    blocks: dict[bytes, Total] = field(default_factory=dict)
    closings: dict[str, ViewState] = field(default_factory=dict)
    open_rows: dict[str, OpenRows] = field(default_factory=dict)
    marks: dict[str, dict[int, Mark]] = field(default_factory=dict)
    finals: dict[str, ViewState] = field(default_factory=dict)
    halves: dict[str, HeldHalves] = field(default_factory=dict)
    looked_to: dict[tuple[str, str], int] = field(default_factory=dict)
    telling: dict[str, Telling] = field(default_factory=dict)
    is_ahead: bool = False
    quarantined: Counter[tuple[str, str]] = field(default_factory=Counter)

    def is_settled(self, step: str, view: str, to_us: int) -> bool:
        """Whether a step of the upkeep has looked for rows up to this instant, and there were none left."""
        return self.looked_to.get((step, view), to_us - 1) >= to_us

    def note_settled(self, step: str, view: str, to_us: int) -> None:
        self.looked_to[step, view] = to_us

    def look_again(self, step: str, view: str) -> None:
        """Something has changed that the step may find."""
        self.looked_to.pop((step, view), None)

    def forget_looks(self) -> None:
        """Whoever goes on with the state knows nothing of what was looked for and told."""
        self.looked_to.clear()
        self.telling.clear()

    def pack(self) -> None:
        """Give back the room of removed rows, once all changes of a transaction, which name slots, are swapped in."""
        for held in (self.views, self.closings, self.finals, self.open_rows):
            for rows in held.values():
                rows.pack()

    @property
    def partition(self) -> int:
        return self.marker.partition


class Effect(Protocol):
    """One thing that a transaction does to the state."""

    def swap_in(self, state: TaskState) -> None:
        """Called once, after the commit."""


@dataclass(frozen=True, slots=True)
class RowsChanged:
    """Rows of a view were changed, added or removed."""

    view: str
    change: ViewChange

    def swap_in(self, state: TaskState) -> None:
        state.views[self.view].swap_in(self.change)


@dataclass(frozen=True, slots=True)
class BlocksCounted:
    """New totals of blocks, by changelog key (rule 12)."""

    totals: dict[bytes, Total]

    def swap_in(self, state: TaskState) -> None:
        state.blocks.update(self.totals)


@dataclass(frozen=True, slots=True)
class RefusalsCounted:
    """Records of a topic were refused, each for its reason."""

    topic: str
    reasons: Counter[str]

    def swap_in(self, state: TaskState) -> None:
        state.quarantined.update({(self.topic, reason): n for reason, n in self.reasons.items()})
