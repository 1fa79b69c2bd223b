"""Two ledgers (rule 15): what became of every offset below the cut, and of every decoded record in a view.

The marker's figures must add up by themselves, or there is nothing to compare; then they must equal Spark's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.advance import Advance
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Fates
from app.domain.records import TopicPartition
from spark_batch.stored.cut import SourceCut, TaskCut

OF_VIEWS = ("applied", "late", "out_of_scope")
OF_PAIRING = (*OF_VIEWS, "duplicate")
"""Fates of joins and alerts."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Spark's own count of one topic-partition below the cut, and the highest `reported_at` of a usable record."""

    decoded: int = 0
    quarantined: int = 0
    highest_us: int = NO_WATERMARK
    fates: Fates = field(default_factory=Fates)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One figure of a ledger, as the marker tells it and as Spark counts it."""

    topic: str
    partition: int
    name: str
    marker: int
    recomputed: int

    @property
    def differs(self) -> bool:
        return self.marker != self.recomputed


def not_adding_up(cut: TaskCut) -> list[str]:
    """Ledgers of a marker that contradict themselves, in words."""
    problems = inputs_not_adding_up(cut)
    for topic, position in cut.source_inputs.items():
        at = TopicPartition(topic, cut.partition)
        fates = cut.marker.views[cut.view.name].fates.get(topic, Fates())
        if cut.view_start(topic) == position.start_offset and fates.total != position.decoded:
            problems.append(
                f"{at}, {cut.view.name}: {fates.applied} applied + {fates.late} late + {fates.out_of_scope} "
                f"out of scope is not {position.decoded}, the records decoded"
            )
    return problems


def inputs_not_adding_up(cut: SourceCut) -> list[str]:
    """First ledgers of a marker that contradict themselves, in words."""
    return [
        f"{topic}-{cut.partition}: {position.decoded} decoded + {position.quarantined} quarantined + "
        f"{position.not_records} not records + {position.lost_offsets} lost is not {position.next_offset} - "
        f"{position.start_offset}, the offsets read"
        for topic, position in cut.marker.inputs.items()
        if not position.adds_up
    ]


def accepted_losses(cuts: Iterable[SourceCut]) -> str | None:
    """Why rows cannot be recomputed where the tasks went on without records that their topics lost; None if none did.

    A log that lost records holds none of those before them either, which the rows count.
    """
    losses = sorted({span for cut in cuts for span in cut.losses}, key=lambda span: (span.at, span.start))
    if not losses:
        return None
    told = "\n".join(f"  - {span}: {span.end - span.start} offsets" for span in losses)
    return (
        f"records were lost before they were read, and the loss was accepted:\n{told}\n"
        "The logs hold nothing of what the rows count from before; `flagfall rebuild` makes tables that can be checked"
    )


def entries(cut: TaskCut, counted: Mapping[TopicPartition, Counted], advances: Sequence[Advance]) -> list[LedgerEntry]:
    """Both ledgers and the watermarks of one task and view."""
    found = []
    for topic in cut.source_inputs:
        told = cut.marker.views[cut.view.name].fates.get(topic, Fates())
        own = counted.get(TopicPartition(topic, cut.partition), Counted())
        found += [*input_entries(cut, topic, own, advances), *fate_entries(cut, topic, told, own.fates, OF_VIEWS)]
    return found


def input_entries(cut: SourceCut, topic: str, own: Counted, advances: Sequence[Advance]) -> list[LedgerEntry]:
    """The first ledger and the watermark of one topic of a task."""
    at, position = TopicPartition(topic, cut.partition), cut.marker.position_in(topic)
    gaps = position.next_offset - position.start_offset - own.decoded - own.quarantined
    due = watermarks(own.highest_us, at, position.next_offset, advances)
    told = position.watermark_us
    figures = (
        ("decoded", position.decoded, own.decoded),
        ("quarantined", position.quarantined, own.quarantined),
        ("not_records", position.not_records, gaps),
        ("watermark_us", told, told if told in due else max(due)),
    )
    return [LedgerEntry(topic, cut.partition, name, marker, recomputed) for name, marker, recomputed in figures]


def fate_entries(cut: SourceCut, topic: str, told: Fates, own: Fates, names: Sequence[str]) -> list[LedgerEntry]:
    """The second ledger of one topic of a task, of these fates."""
    return [LedgerEntry(topic, cut.partition, name, getattr(told, name), getattr(own, name)) for name in names]


def watermarks(highest_us: int, at: TopicPartition, next_offset: int, advances: Iterable[Advance]) -> set[int]:
    """What the watermark may be at the cut. An advance at the cut's very offset may have come before or after it."""
    own = [a for a in advances if (a.topic, a.partition) == at]
    before = max([highest_us, *(a.watermark_us for a in own if a.at_offset < next_offset)])
    return {before} | {max(before, a.watermark_us) for a in own if a.at_offset == next_offset}
