"""What a task must hold and have written, folded naively from what its input truly says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from app.codecs.stored.changelog import BlockKey
from app.domain.advance import Advance
from app.domain.corrections.correction import Correction
from app.domain.event_time import NO_WATERMARK
from app.domain.fingerprint import BLOCK_SIZE, Origin, mix, pack, signed
from app.domain.marker import LIVE, Fates, Marker
from app.domain.obeyed import lowest_seen_us, rules_of
from app.domain.oracle.alert_fold import Alerted, fold_alert
from app.domain.oracle.join_fold import Joined, fold_join
from app.domain.oracle.view_fold import Folded, fold
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join
from app.domain.records import Record, TopicPartition
from app.domain.rows import Cells, RowKey, end_of
from app.domain.rules.admission import refusal
from app.domain.rules.epochs import GraceEpoch, Rules, seen_us
from app.domain.source import with_derived
from app.domain.view import View
from app.testkit.simulation.inputs import Fact

RecordPlace = tuple[str, int]
"""Topic and offset, within one partition."""


class ExpectedOutcome(NamedTuple):
    """What a task did about a correction: None is applied, else why not. `at`: the offsets that it had read."""

    correction: Correction
    offset: int
    why: str | None
    at: Mapping[str, int]


@dataclass
class Expected:
    """The naive fold of one task's input, `facts`, up to a marker's positions.

    `outcomes`: what the task says it did about corrections, in their order.
    """

    marker: Marker
    facts: Sequence[Fact]
    advances: Sequence[Advance]
    outcomes: Sequence[ExpectedOutcome] = ()

    def __post_init__(self) -> None:
        self._views: dict[str, ExpectedView] = {}

    @cached_property
    def inside(self) -> dict[RecordPlace, Fact]:
        """Committed records between each topic's start and position, in offset order within a topic."""
        covered = (fact for fact in self.facts if fact.is_committed and self._covers(fact))
        return {(fact.place.topic, fact.offset): fact for fact in covered}

    @cached_property
    def records(self) -> list[Record]:
        """Those that can be decoded."""
        return [
            Record(f.place.topic, f.place.partition, f.offset, f.sample.sent.timestamp_ms, f.sample.values)
            for f in self.inside.values()
            if f.sample.values is not None
        ]

    @cached_property
    def refused(self) -> dict[RecordPlace, str]:
        """Why records cannot be used."""
        refused = {place: str(fact.sample.reason) for place, fact in self.inside.items() if fact.sample.reason}
        for record in self.records:
            source = self.inside[record.topic, record.offset].sample.source
            why = refusal(source, record, with_derived(source, record.values), self.skews)
            if why is not None:
                refused[record.topic, record.offset] = str(why)
        return refused

    @cached_property
    def skews(self) -> Rules:
        """Of each input, how far records may be stamped ahead, and from which offset on."""
        inputs, partition = self.marker.inputs.items(), self.marker.partition
        return Rules(skews={TopicPartition(topic, partition): position.skews for topic, position in inputs})

    def watermarks_us(self, topic: str, at: int | None = None) -> set[int]:
        """What the watermark may be at the position, or at an offset below it. Advances at the very offset may have
        been taken already, or not yet."""
        next_offset = self.marker.inputs[topic].next_offset if at is None else at
        usable = (r for r in self.records if r.topic == topic and (topic, r.offset) not in self.refused)
        reported = [self._reported_at(record) for record in usable if record.offset < next_offset]
        below = [a.watermark_us for a in self.advances if a.topic == topic and a.at_offset < next_offset]
        here = [a.watermark_us for a in self.advances if a.topic == topic and a.at_offset == next_offset]
        reached = max([NO_WATERMARK, *reported, *below])
        return {reached, *(max(reached, raised) for raised in here)}

    def seen_us(self, view: View, topic: str) -> set[int]:
        """By which watermark the view may judge at the position: an epoch that begins there may be in force or not."""
        at, epochs = self.marker.inputs[topic].next_offset, self.marker.views[view.name].graces.get(topic, ())
        before = [epoch for epoch in epochs if epoch.from_offset < at]
        held: list[GraceEpoch | None] = [*before[-1:], *(epoch for epoch in epochs if epoch.from_offset == at)]
        return {seen_us(view, epoch, reached) for reached in self.watermarks_us(topic) for epoch in held or [None]}

    def view(self, view: View) -> ExpectedView:
        """What one view must hold."""
        if view.name not in self._views:
            self._views[view.name] = ExpectedView(view, self)
        return self._views[view.name]

    def joined(self, join: Join) -> Joined:
        """What a join must have given."""
        mine = [r for r in self.records if r.topic in join.topics]
        return fold_join(join, mine, self.advances, self.skews)

    def alerted(self, alert: Alert) -> Alerted:
        """What an alert must have told."""
        return fold_alert(alert, self.records, self.advances, self.skews)

    def origin(self, record: Record) -> int:
        """The record's packed origin."""
        number = self.inside[record.topic, record.offset].sample.source.topic(record.topic).number
        return pack(Origin(number, record.partition, record.offset))

    def _covers(self, fact: Fact) -> bool:
        position = self.marker.inputs[fact.place.topic]
        return position.start_offset <= fact.offset < position.next_offset

    def _reported_at(self, record: Record) -> int:
        source = self.inside[record.topic, record.offset].sample.source
        return int(with_derived(source, record.values)[source.reported_at] or 0)


class ExpectedView:
    """One view of it: rows, fates by topic, blocks, and who was late. A view that is being built covers less."""

    def __init__(self, view: View, expected: Expected) -> None:
        self.view, self._expected = view, expected
        self._position = expected.marker.views[view.name]
        topics = {topic.name for topic in view.source.topics}
        records = [r for r in expected.records if r.topic in topics and self._covers(r)]
        self.folded: Folded = fold(view, records, expected.advances, rules_of(view, [expected.marker]))

    @cached_property
    def rows(self) -> dict[RowKey, Cells]:
        """Rows that have not expired."""
        rows = self.corrected(self._expected.outcomes)
        expired_to_us = self._position.expired_to_us
        if expired_to_us is None:
            return rows
        return {key: cells for key, cells in rows.items() if end_of(self.view, key, cells) > expired_to_us}

    def corrected(self, outcomes: Iterable[ExpectedOutcome]) -> dict[RowKey, Cells]:
        """All rows, with these outcomes' corrections applied; none of them may expire or change any more."""
        rows = dict(self.folded.rows[self._expected.marker.partition])
        for outcome in outcomes:
            is_of_view = outcome.correction.version == self.view.version
            if is_of_view and outcome.why is None and self._is_own(outcome):
                rows.pop(outcome.correction.key, None)
                if outcome.correction.row is not None:
                    rows[outcome.correction.key] = outcome.correction.row
        return rows

    def _is_own(self, outcome: ExpectedOutcome) -> bool:
        """Whether it is of this life of the view."""
        return outcome.offset >= self._position.corrected_from

    @property
    def closable_to_us(self) -> int | None:
        """Windows that end at or before it take no more records, so a task that has caught up has closed them."""
        lowest_us = lowest_seen_us(self.view, self._expected.marker)
        if not self.view.window.ends or lowest_us == NO_WATERMARK or self._position.state != LIVE:
            return None
        return self.view.window.last_end(lowest_us - self.view.grace_us)

    @property
    def expirable_to_us(self) -> int | None:
        """Rows whose windows end at or before it have no reason to stay, once the task has caught up."""
        return None if self.closable_to_us is None else self.closable_to_us - self.view.retention_us

    @property
    def fates(self) -> dict[str, Fates]:
        return fates_by_topic(self.folded.applied, self.folded.late, self.folded.out_of_scope)

    @property
    def blocks(self) -> dict[BlockKey, tuple[int, int]]:
        """Count and fingerprint of what was applied, per block of offsets."""
        totals: dict[BlockKey, tuple[int, int]] = {}
        for record in self.folded.applied:
            number = self.view.source.topic(record.topic).number
            key = BlockKey(self.view.number, self.view.version, number, record.offset // BLOCK_SIZE)
            count, total = totals.get(key, (0, 0))
            totals[key] = (count + 1, signed(total + mix(self._expected.origin(record))))
        return totals

    def _covers(self, record: Record) -> bool:
        """Whether the view has read so far; what was there before its start it never reads."""
        built = self._position.built.get(record.topic)
        return record.offset >= self._position.start.get(record.topic, 0) and (
            built is None or self._position.state == LIVE or record.offset < built.next_offset
        )


def fates_by_topic(*records: Iterable[Record]) -> dict[str, Fates]:
    """Ledger entries from records of each fate, in the order of `Fates`."""
    counts = [Counter(record.topic for record in of_fate) for of_fate in records]
    return {topic: Fates(*(count[topic] for count in counts)) for topic in set().union(*counts)}
