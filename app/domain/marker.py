"""The marker: what a task's state covers, written in the same transaction as the state (rules 2, 13, 15)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from app.domain.event_time import NO_WATERMARK


@dataclass(frozen=True, slots=True)
class InputPosition:
    """How far a task has read one input topic-partition, and what it found below.

    `next_offset` is exclusive: every offset in `[start_offset, next_offset)` is exactly one of decoded,
    quarantined, or not a record (control records, aborted or compacted away).
    """

    topic_id: str
    start_offset: int
    next_offset: int
    watermark_us: int = NO_WATERMARK
    decoded: int = 0
    quarantined: int = 0
    not_records: int = 0

    @property
    def adds_up(self) -> bool:
        """Rule 15, first ledger."""
        return self.decoded + self.quarantined + self.not_records == self.next_offset - self.start_offset


@dataclass(frozen=True, slots=True)
class Fates:
    """Second ledger: what became of the decoded records of one topic-partition in one view."""

    applied: int = 0
    late: int = 0
    out_of_scope: int = 0

    def plus(self, other: Fates) -> Fates:
        return Fates(self.applied + other.applied, self.late + other.late, self.out_of_scope + other.out_of_scope)

    @property
    def total(self) -> int:
        return self.applied + self.late + self.out_of_scope


@dataclass(frozen=True, slots=True)
class ViewPosition:
    """One view's part of the marker. `start` names the first offset it covers per topic."""

    number: int
    version: str
    state: str = "live"
    start: dict[str, int] = field(default_factory=dict)
    expired_below_us: int | None = None
    fates: dict[str, Fates] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Marker:
    """Position of a task: partition `partition` of a source's topics, after `sequence` transactions.

    `rules` are the epochs of rule 13: what made a record unusable from which offset on.
    """

    application: str
    source: int
    partition: int
    sequence: int
    inputs: dict[str, InputPosition]
    views: dict[str, ViewPosition]
    rules: tuple[dict[str, int], ...] = ()

    def moved(self, topic: str, position: InputPosition, views: dict[str, ViewPosition]) -> Marker:
        """The marker after one more transaction that read `topic` up to `position`."""
        return replace(self, sequence=self.sequence + 1, inputs=self.inputs | {topic: position}, views=views)

    @property
    def next_offsets(self) -> dict[str, int]:
        """The cut: next offset per input topic."""
        return {topic: position.next_offset for topic, position in self.inputs.items()}
