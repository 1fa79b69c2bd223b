"""The cut: which offsets of which topics a run covers, taken from the markers of the exports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.domain.marker import InputPosition, Marker
from app.domain.records import Place, TopicPartition
from app.domain.source import Source
from app.domain.view import View


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets `[start, end)` of one topic-partition; `topic_id` None where it need not be a certain topic."""

    topic: str
    partition: int
    start: int
    end: int
    topic_id: str | None = None

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} [{self.start}, {self.end})"

    def __contains__(self, place: Place) -> bool:
        return (place.topic, place.partition) == self.at and self.start <= place.offset < self.end

    @property
    def at(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class SourceCut:
    """How far one task has read, and where in the changelog it says so; of one of its sources."""

    source: Source
    partition: int
    marker: Marker
    changelog_offset: int

    @property
    def has_committed(self) -> bool:
        """Whether the task has written anything yet; until then it has no marker in its changelog."""
        return self.changelog_offset >= 0

    @property
    def spans(self) -> list[Span]:
        """What the task has read, per input topic; of what was lost before it was read, only what came after."""
        inputs = self.marker.inputs.items()
        return [Span(topic, self.partition, _from(p), p.next_offset, p.topic_id) for topic, p in inputs]

    @property
    def losses(self) -> list[Span]:
        """What the source's topics lost before it was read, and the tasks went on without."""
        gaps = ((topic, gap) for topic, position in self.source_inputs.items() for gap in position.lost)
        return [Span(topic, self.partition, gap.from_offset, gap.to_offset) for topic, gap in gaps]

    @property
    def source_spans(self) -> list[Span]:
        """Those of the source's own topics; a task reads requests to raise its watermarks beside them."""
        return [span for span in self.spans if span.topic in self.source_inputs]

    @property
    def source_inputs(self) -> dict[str, InputPosition]:
        """The marker's positions in the source's own topics."""
        topics = {topic.name for topic in self.source.topics}
        return {topic: position for topic, position in self.marker.inputs.items() if topic in topics}

    def as_json(self) -> dict[str, Any]:
        """As a report has it."""
        spans = [
            {"topic": s.topic, "topic_id": s.topic_id, "start_offset": s.start, "next_offset": s.end}
            for s in self.spans
        ]
        return {
            "partition": self.partition,
            "changelog_offset": self.changelog_offset,
            "sequence": self.marker.sequence,
            "inputs": spans,
        }


@dataclass(frozen=True, slots=True)
class TaskCut(SourceCut):
    """What one view of one task says it covers."""

    view: View

    @classmethod
    def of(cls, view: View, partition: int, marker: Marker, changelog_offset: int) -> TaskCut:
        return cls(view.source, partition, marker, changelog_offset, view)

    def view_start(self, topic: str) -> int:
        """The first offset that the view covers: its own start, if it was added after the task had begun."""
        position = self.marker.views[self.view.name]
        return max(position.start.get(topic, 0), self.marker.position_in(topic).start_offset)


def _from(position: InputPosition) -> int:
    return position.lost[-1].to_offset if position.lost else position.start_offset


def joined(spans: Iterable[Span]) -> list[Span]:
    """One span per topic-partition that covers all given ones; views of a task may stand at different offsets."""
    widest: dict[TopicPartition, Span] = {}
    for span in spans:
        known = widest.get(span.at, span)
        start, end = min(known.start, span.start), max(known.end, span.end)
        widest[span.at] = Span(span.topic, span.partition, start, end, span.topic_id)
    return [widest[at] for at in sorted(widest)]
