"""A task that begins anew from what its logs hold now, while no worker holds it (rules 4, 8, 13).

Its inputs are counted again, with the advances that were recorded, up to where the task stood. Then its views are
CLEARING in the marker: whoever takes the task over deletes the rows that the changelog holds of them, and builds them
from the logs, as views that come back. What was sent to the closing stage is not sent again (`closed_to_us`). Nothing
is written before the one marker that says so, so this may be broken off and done again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.base import names
from app.codecs.avro.schema import Schemas
from app.domain.advance import Advance, obeyed
from app.domain.errors import StateError
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import InputPosition, Marker, OffsetRange, ViewPosition, former_key
from app.domain.view import View
from app.engine.core.advances import advance_output
from app.engine.core.batch import Batch, Output, Transaction
from app.engine.core.building import Stretch, read_again
from app.engine.core.completing import begun_again, goes_on
from app.engine.core.definition import TaskDefinition
from app.engine.core.epochs import of_one_skew
from app.engine.core.mending.stored_marker import marker_transaction
from app.engine.core.possible import has_impossible
from app.engine.core.records.reading import passed


class LogNow(NamedTuple):
    """An input's log: its topic's id, the first offset that it still has, the offset behind its last."""

    topic_id: str
    start: int
    end: int


class Rebuild:
    """One task's: `stretch` is what must be read next and taken, until there is none; then `transaction` begins anew.

    `advances`: by topic of records, all that were written for the task. `outcomes`: the task's partition of what became
    of corrections. `to_offsets` says up to where each topic of records is read again. StateError for a task whose joins
    or alerts hold halves that now are other records.
    """

    def __init__(
        self,
        definition: TaskDefinition,
        marker: Marker,
        logs: Mapping[str, LogNow],
        advances: Mapping[str, Sequence[Advance]],
        outcomes: LogNow,
    ) -> None:
        self._definition, self._marker = definition, marker
        self._advances = {topic: obeyed(some, definition.by_topic[topic]) for topic, some in advances.items()}
        self._outcomes = OffsetRange(outcomes.start, outcomes.end)
        records = [topic for topic in marker.inputs if topic in definition.by_topic and topic in logs]
        _refuse_other_halves(marker, {topic: logs[topic] for topic in records})
        self.to_offsets = {topic: _reach(marker.inputs[topic], logs[topic]) for topic in records}
        self._inputs = {topic: self._begun(marker.inputs[topic], topic, logs[topic]) for topic in records}
        self._others = {
            topic: _kept(position, logs[topic])
            for topic, position in marker.inputs.items()
            if topic in logs and topic not in records
        }

    @property
    def stretch(self) -> Stretch | None:
        """What is to be read next."""
        for topic, to_offset in self.to_offsets.items():
            if self._inputs[topic].next_offset < to_offset:
                return Stretch(topic, self._inputs[topic].next_offset, to_offset)
        return None

    @property
    def progress(self) -> tuple[int, int]:
        """How many offsets have been read, and how many there are."""
        done = sum(at.next_offset - at.start_offset for at in self._inputs.values())
        return done, sum(to - self._inputs[topic].start_offset for topic, to in self.to_offsets.items())

    def take(self, batch: Batch, schemas: Schemas) -> None:
        """Count the stretch, or its first part."""
        position = self._inputs[batch.topic]
        batch = of_one_skew(batch.until(self.to_offsets[batch.topic]), position.skews)
        advances = self._advances[batch.topic]
        again = read_again(self._definition, batch, position.skews, position.watermark_us, advances, schemas)
        self._inputs[batch.topic] = passed(batch, position, quarantined=again.refused, watermark_us=again.watermark_us)

    def transaction(self) -> Transaction:
        """The marker of the task that begins anew; and advances that were recorded for offsets behind where it begins,
        as ones that hold from there on: what was closed by them stays closed."""
        outputs: list[Output] = []
        inputs = self._marker.inputs | self._others | self._inputs
        for topic, position in self._inputs.items():
            highest_us = max((a.watermark_us for a in self._advances[topic]), default=NO_WATERMARK)
            if highest_us > position.watermark_us:
                inputs[topic] = replace(position, watermark_us=highest_us)
                advance = Advance(topic, self._marker.partition, position.next_offset, highest_us)
                outputs.append(advance_output(self._definition.application, advance))
        moved = {topic for topic, at in inputs.items() if at.next_offset != self._marker.inputs[topic].next_offset}
        marker = replace(
            self._marker,
            inputs=inputs,
            views={view.name: self._begun_again(view, inputs) for view in self._definition.views if self._has(view)},
            branches={name: at for name, at in self._marker.branches.items() if not at.start.keys() & moved},
            closed_before=_closed(self._marker),
        )
        if has_impossible(self._definition, self._marker):
            marker = self._healed(marker)
        return marker_transaction(self._definition, marker, outputs)

    def _healed(self, marker: Marker) -> Marker:
        """Windows were closed for ever by a watermark that no record can have. Those that hold what has been read stay
        as they were published; later ones will be."""
        views = dict(marker.views)
        for view in (view for view in self._definition.views if view.window.ends):
            known = (marker.inputs[topic.name] for topic in view.source.topics if topic.name in marker.inputs)
            top_us = max((position.watermark_us for position in known), default=NO_WATERMARK)
            position = views.get(view.name)
            if position is not None and position.closed_to_us is not None:
                end_us = None if top_us == NO_WATERMARK else view.window.end(view.window.start(top_us), top_us)
                views[view.name] = replace(position, closed_to_us=end_us, former_to_us=end_us)
        return replace(marker, views=views, closed_before={})

    def _has(self, view: View) -> bool:
        """Whether the marker knows the view as it is declared, over all its topics; else it begins by itself."""
        known = self._marker.views.get(view.name)
        topics = {topic.name for topic in view.source.topics}
        return known is not None and goes_on(view, self._marker) and topics == known.start.keys()

    def _begun_again(self, view: View, inputs: Mapping[str, InputPosition]) -> ViewPosition:
        """What corrected it is folded in again where the rows will be those that it was made for: of the same records,
        by the same grace."""
        known = self._marker.views[view.name]
        corrections = names.corrections_topic(self._definition.application, self._definition.name)
        start = {topic: inputs[topic].start_offset for topic in known.start}
        if corrections not in inputs:
            return begun_again(known, start, 0)
        same = {*known.start, corrections}
        unchanged = all(_is_unmoved(self._marker.inputs[topic], inputs[topic]) for topic in same)
        graces = {epoch.grace_seconds for epochs in known.graces.values() for epoch in epochs}
        if not unchanged or start != known.start or graces - {view.grace_seconds}:
            return begun_again(known, start, inputs[corrections].next_offset)
        return begun_again(known, start, known.corrected_from, self._outcomes if self._outcomes.offsets else None)

    def _begun(self, known: InputPosition, topic: str, log: LogNow) -> InputPosition:
        """Nothing is read again yet; the watermark is what was raised for offsets below."""
        raised = [a.watermark_us for a in self._advances[topic] if a.at_offset <= log.start]
        skews = known.skews if known.topic_id == log.topic_id else ()
        watermark_us = max(raised, default=NO_WATERMARK)
        return InputPosition(log.topic_id, log.start, log.start, watermark_us, skews=skews)


def _is_unmoved(before: InputPosition, now: InputPosition) -> bool:
    return (before.topic_id, before.next_offset) == (now.topic_id, now.next_offset)


def _reach(known: InputPosition, log: LogNow) -> int:
    """Up to where the task had read what the log holds now."""
    if known.topic_id != log.topic_id:
        return log.start
    return min(max(known.next_offset, log.start), log.end)


def _kept(known: InputPosition, log: LogNow) -> InputPosition:
    """The position in a topic that holds no records: what was done about requests and corrections is not done again."""
    at = _reach(known, log)
    if (known.topic_id, known.next_offset) == (log.topic_id, at):
        return known
    return InputPosition(log.topic_id, at, at)


def _closed(marker: Marker) -> dict[str, int]:
    """To where windows were closed, by view."""
    closed = dict(marker.closed_before)
    for position in marker.views.values():
        if position.closed_to_us is not None:
            key = former_key(position.number, position.version)
            closed[key] = max(closed.get(key, position.closed_to_us), position.closed_to_us)
    return closed


def _refuse_other_halves(marker: Marker, logs: Mapping[str, LogNow]) -> None:
    starts = [at.start for at in marker.joins.values()] + [at.start for at in marker.alerts.values()]
    held = {topic for start in starts for topic in start}
    for topic in sorted(held & logs.keys()):
        known, log = marker.inputs[topic], logs[topic]
        if known.topic_id != log.topic_id or log.end < known.next_offset:
            raise StateError(
                f"{topic}-{marker.partition}: joins or alerts hold records by offsets that are others now, and cannot "
                "be built anew; use another FLAGFALL_APP_ID"
            )
