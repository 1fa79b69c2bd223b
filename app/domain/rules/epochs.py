"""Rules that change while the stream goes on: which skew, which rules of cleanliness that quarantine, and which grace
hold from which offset on (rule 13).

An epoch begins at the position of the task that first judged by its rule. What lies before keeps its judgement, and a
window that was closed stays closed: an epoch's `floor_us` says up to where its predecessors had closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from app.domain.cleanliness.rule import Refusing
from app.domain.event_time import NO_WATERMARK
from app.domain.records import TopicPartition
from app.domain.source import Source
from app.domain.view import View
from app.domain.windows.durations import SECOND_US


@dataclass(frozen=True, slots=True)
class SkewEpoch:
    """Records of one topic-partition at `from_offset` and above are held to this skew, and refused by these rules."""

    from_offset: int
    skew_seconds: int
    refuses: tuple[Refusing, ...] = ()

    @classmethod
    def declared(cls, source: Source, from_offset: int = 0) -> SkewEpoch:
        """As the source's definition says."""
        return cls(from_offset, source.skew_seconds, source.refusing)

    def judges_as(self, other: SkewEpoch) -> bool:
        """Whether both refuse the same records."""
        return (self.skew_seconds, self.refuses) == (other.skew_seconds, other.refuses)


@dataclass(frozen=True, slots=True)
class GraceEpoch:
    """A view gives this grace to records of one topic-partition at `from_offset` and above.

    `floor_us`: windows that end at or before it had been closed when the epoch began; NO_WATERMARK if none had.
    """

    from_offset: int
    grace_seconds: int
    floor_us: int = NO_WATERMARK

    def closed_to_us(self, watermark_us: int) -> int:
        """Windows that end at or before it take no more records at this watermark; NO_WATERMARK if none is closed."""
        if watermark_us == NO_WATERMARK:
            return self.floor_us
        return max(self.floor_us, watermark_us - self.grace_seconds * SECOND_US)


class _Epoch(Protocol):
    @property
    def from_offset(self) -> int: ...


E = TypeVar("E", bound=_Epoch)


def epoch_at(epochs: Sequence[E], offset: int) -> E | None:
    """The epoch that holds at an offset: of several that begin at one offset the last. None below the first."""
    return next((epoch for epoch in reversed(epochs) if epoch.from_offset <= offset), None)


def with_declared(epochs: tuple[SkewEpoch, ...], source: Source, *, start: int, at: int) -> tuple[SkewEpoch, ...]:
    """The epochs when what the source declares holds from offset `at` on; the first of all begins at `start`."""
    if not epochs:
        return (SkewEpoch.declared(source, start),)
    new = SkewEpoch.declared(source, at)
    return epochs if epochs[-1].judges_as(new) else (*epochs, new)


def with_grace(
    epochs: tuple[GraceEpoch, ...], grace_seconds: int, *, start: int, at: int, watermark_us: int
) -> tuple[GraceEpoch, ...]:
    """As `with_declared`; `watermark_us` is what the topic-partition has reached at offset `at`."""
    if not epochs:
        return (GraceEpoch(start, grace_seconds),)
    last = epochs[-1]
    if last.grace_seconds == grace_seconds:
        return epochs
    return (*epochs, GraceEpoch(at, grace_seconds, last.closed_to_us(watermark_us)))


def seen_us(view: View, epoch: GraceEpoch | None, watermark_us: int) -> int:
    """The watermark by which the view judges: with the grace of its definition it closes what the epoch closes.

    Whoever judges by it needs to know nothing of epochs. None: no epoch was told, the definition's grace holds.
    """
    if epoch is None or not view.window.ends:
        return watermark_us
    closed_us = epoch.closed_to_us(watermark_us)
    return NO_WATERMARK if closed_us == NO_WATERMARK else closed_us + view.grace_us


@dataclass(frozen=True)
class Rules:
    """The epochs of a source's topic-partitions, and those of one view over it; where none is told, as declared."""

    skews: Mapping[TopicPartition, tuple[SkewEpoch, ...]] = field(default_factory=dict)
    graces: Mapping[TopicPartition, tuple[GraceEpoch, ...]] = field(default_factory=dict)

    def held_to(self, source: Source, at: TopicPartition, offset: int) -> SkewEpoch:
        """By what a record was refused, or was not."""
        return epoch_at(self.skews.get(at, ()), offset) or SkewEpoch.declared(source)

    def seen_us(self, view: View, at: TopicPartition, offset: int, watermark_us: int) -> int:
        """The watermark by which the view judges a record; `watermark_us` is its topic-partition's."""
        return seen_us(view, epoch_at(self.graces.get(at, ()), offset), watermark_us)


AS_DECLARED = Rules()
"""No rule was ever changed."""
