"""The marker: what a task's state covers, written in the same transaction as the state (rules 2, 13, 15)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from app.domain.errors import StateError
from app.domain.event_time import NO_WATERMARK
from app.domain.rules.epochs import GraceEpoch, SkewEpoch


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets `[from_offset, to_offset)`."""

    from_offset: int
    to_offset: int

    @property
    def offsets(self) -> int:
        return self.to_offset - self.from_offset


@dataclass(frozen=True, slots=True)
class InputPosition:
    """How far a task has read one input topic-partition, and what it found below.

    `next_offset` is exclusive: every offset in `[start_offset, next_offset)` is exactly one of decoded,
    quarantined, not a record (control records, aborted or compacted away), or `lost`: deleted before they were read,
    and left out by hand. `skews`: by which rule records
    were held to be stamped ahead of time, from which offset on.
    """

    topic_id: str
    start_offset: int
    next_offset: int
    watermark_us: int = NO_WATERMARK
    decoded: int = 0
    quarantined: int = 0
    not_records: int = 0
    skews: tuple[SkewEpoch, ...] = ()
    lost: tuple[OffsetRange, ...] = ()

    @property
    def lost_offsets(self) -> int:
        return sum(gap.offsets for gap in self.lost)

    @property
    def adds_up(self) -> bool:
        """Rule 15, first ledger."""
        told = self.decoded + self.quarantined + self.not_records + self.lost_offsets
        return told == self.next_offset - self.start_offset


@dataclass(frozen=True, slots=True)
class Fates:
    """Second ledger: what became of the decoded records of one topic-partition in one view, join or alert.

    Only joins and alerts know duplicates.
    """

    applied: int = 0
    late: int = 0
    out_of_scope: int = 0
    duplicate: int = 0

    def plus(self, other: Fates) -> Fates:
        return Fates(
            self.applied + other.applied,
            self.late + other.late,
            self.out_of_scope + other.out_of_scope,
            self.duplicate + other.duplicate,
        )

    @property
    def total(self) -> int:
        return self.applied + self.late + self.out_of_scope + self.duplicate


def former_key(number: int, version: str) -> str:
    """What tells views apart whose rows are told apart: a view that is only renamed is the same."""
    return f"{number}-{version}"


MOST_SCHEMAS = 500
"""A topic's records name a few; a marker is written with each transaction."""
LIVE, BUILDING, CLEARING = "live", "building", "clearing"
"""A view that comes back is CLEARING until what the changelog holds of its former life is deleted; then it is built."""


@dataclass(frozen=True, slots=True)
class BuildPosition:
    """How far a view that is being built has read one topic-partition again, and the watermark there."""

    next_offset: int
    watermark_us: int = NO_WATERMARK


@dataclass(frozen=True, slots=True)
class ViewPosition:
    """One view's part of the marker. `start` names the first offset it covers per topic.

    `closed_to_us`: rows whose windows end at or before it were sent to the closing stage; `expired_to_us`: such rows
    have left the table. `built` is there while `state` is not LIVE: the view covers what lies below it. `graces`: by
    which grace records of each topic were judged. `corrected_from`: the first offset of the corrections that the view
    has taken; those below were taken by what it was before it began anew. `corrections_again`: where the outcomes of
    corrections stand in their topic that are to be folded in again, once all is built. `former_to_us`: finals of
    windows that had ended by then were published by what the view was before it began anew.
    """

    number: int
    version: str
    state: str = LIVE
    start: dict[str, int] = field(default_factory=dict)
    fates: dict[str, Fates] = field(default_factory=dict)
    closed_to_us: int | None = None
    expired_to_us: int | None = None
    built: dict[str, BuildPosition] = field(default_factory=dict)
    graces: dict[str, tuple[GraceEpoch, ...]] = field(default_factory=dict)
    corrected_from: int = 0
    corrections_again: OffsetRange | None = None
    former_to_us: int | None = None


@dataclass(frozen=True, slots=True)
class JoinPosition:
    """One join's part of the marker: what became of its halves, and what it gave.

    `joined` counts pairs, `unmatched` halves; `count` and `fingerprint` are of all halves in joined records. `start`
    names the first offset it covers per topic; `left_at`, where a release without it went on.
    """

    number: int
    version: str
    fates: dict[str, Fates] = field(default_factory=dict)
    joined: int = 0
    unmatched: int = 0
    start: dict[str, int] = field(default_factory=dict)
    left_at: dict[str, int] = field(default_factory=dict)
    count: int = 0
    fingerprint: int = 0


@dataclass(frozen=True, slots=True)
class AlertPosition:
    """One alert's part of the marker: what became of the records of its topic, and how often it was told.

    `start` names the first offset it covers; `left_at`, where a release without it went on.
    """

    number: int
    version: str
    fates: dict[str, Fates] = field(default_factory=dict)
    told: int = 0
    start: dict[str, int] = field(default_factory=dict)
    left_at: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BranchPosition:
    """One branch's part of the marker: how many records it has sent to each of its topics since `start`.

    `start` names the first offset per topic from which on it has missed none; `left_at`, where a release or a setting
    without it went on: then it starts anew where it is found again.
    """

    version: str
    start: dict[str, int] = field(default_factory=dict)
    high: int = 0
    low: int = 0
    left_at: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Marker:
    """Position of a task: partition `partition` of its input topics, after `sequence` transactions.

    `source` is the number of the task's (first) source. `closed_before`: of views that it held and holds no more, by
    `former_key`, to where their windows were closed: what was sent to the closing stage then is not sent again.
    `schemas`: by which schemas records were read, fingerprints by id; MOST_SCHEMAS of them. `changelog_id`: the topic's
    id of the changelog that holds what the marker covers; none in markers of before layout 6. `tasks`: how many tasks
    there are. `closing_partitions`: over so many partitions of the closing topic, from 0 on, closed rows are spread;
    fewer where partitions were added later. Both are 0 in markers of before layout 7.
    """

    application: str
    source: int
    partition: int
    sequence: int
    inputs: dict[str, InputPosition]
    views: dict[str, ViewPosition]
    joins: dict[str, JoinPosition] = field(default_factory=dict)
    alerts: dict[str, AlertPosition] = field(default_factory=dict)
    branches: dict[str, BranchPosition] = field(default_factory=dict)
    closed_before: dict[str, int] = field(default_factory=dict)
    schemas: dict[str, str] = field(default_factory=dict)
    changelog_id: str = ""
    tasks: int = 0
    closing_partitions: int = 0

    def with_schemas(self, met: Mapping[str, str]) -> Marker:
        """The marker with those that are new to it, as far as there is room."""
        new = [one for one in met.items() if one[0] not in self.schemas]
        if not new or len(self.schemas) >= MOST_SCHEMAS:
            return self
        return replace(self, schemas=self.schemas | dict(new[: MOST_SCHEMAS - len(self.schemas)]))

    def position_in(self, topic: str) -> InputPosition:
        """How far an input topic was read. StateError for one that whoever wrote the marker did not know."""
        if topic not in self.inputs:
            raise unknown_topic(topic, self.partition)
        return self.inputs[topic]

    def lowest_watermark_us(self, topics: Iterable[str]) -> int:
        """The watermark that all these topics have reached; NO_WATERMARK if one of them has none."""
        return min(self.position_in(topic).watermark_us for topic in topics)

    @property
    def next_offsets(self) -> dict[str, int]:
        """The cut: next offset per input topic."""
        return {topic: position.next_offset for topic, position in self.inputs.items()}


def unknown_topic(topic: str, partition: int) -> StateError:
    """The task's marker is one of before the topic was an input."""
    return StateError(
        f"{topic}-{partition}: the task does not know the topic, as no release that has this input has held the task "
        "yet: start a worker of the one that declares it, which begins the topic, and ask again"
    )
