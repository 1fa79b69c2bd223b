"""The records behind a row, found in the log again: where they may stand, and what has been found so far.

A task judged each record by the watermark of its topic-partition. A search that begins in the middle of one knows it
all the same, as far as the row goes: what stands before the first record that Kafka stamped with the window's start,
less the skew, reported an earlier instant, which has closed nothing that began later; and what raised watermarks
without a record is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from app.codecs.avro.schema import Schemas
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.advance import Advance
from app.domain.contribution import contribution
from app.domain.event_time import NO_WATERMARK
from app.domain.fingerprint import Origin, mix, pack
from app.domain.records import Record
from app.domain.rows import COUNT_AT, FINGERPRINT_AT, Cells, merge_rows
from app.domain.rules.epochs import GraceEpoch, SkewEpoch, epoch_at, seen_us
from app.domain.view import View
from app.engine.core.batch import Batch
from app.engine.core.building import read_again
from app.engine.core.definition import TaskDefinition
from app.engine.core.epochs import of_one_skew
from app.engine.core.views.belonging import RowAsked, belonging, seen_then


class SearchSpan(NamedTuple):
    """Offsets `[from_offset, to_offset)` in which records of the row may stand; `watermark_us` is the one before them.

    `is_added`: a correction brought them in, however late they were.
    """

    topic: str
    partition: int
    from_offset: int
    to_offset: int
    watermark_us: int = NO_WATERMARK
    is_added: bool = False


class JudgedBy(NamedTuple):
    """By what a task judged the records of a topic: epochs, and all that raised its watermark without a record."""

    skews: Sequence[SkewEpoch]
    graces: Sequence[GraceEpoch]
    advances: Sequence[Advance]


@dataclass(frozen=True)
class Search:
    """What is left of it: `spans` in the order in which they are read, and by task how many records are still `wanted`.

    `found` is what those that were found fold to. `to_the_end`: it goes on behind the last one that is wanted, for
    those that the row lacks.
    """

    asked: RowAsked
    spans: tuple[SearchSpan, ...]
    wanted: Mapping[int, int]
    found: Cells
    to_the_end: bool = False

    @property
    def next(self) -> SearchSpan | None:
        """What is to be read next; None when all is found, or all was looked at."""
        return next((span for span in self.spans if self.to_the_end or self.wanted[span.partition] > 0), None)

    @property
    def is_short(self) -> bool:
        """Whether records are missing."""
        return any(self.wanted.values())

    def without(self, span: SearchSpan) -> Search:
        """Nothing more is looked for there."""
        return replace(self, spans=tuple(one for one in self.spans if one is not span))


class SearchStep(NamedTuple):
    """What a part of a span gave, and the search behind it."""

    records: list[Record]
    search: Search


def take(
    definition: TaskDefinition, view: View, search: Search, judged: JudgedBy, batch: Batch, schemas: Schemas, most: int
) -> SearchStep:
    """The row's records, `most` of them at most, in a batch that begins where `search.next` does."""
    span = search.next
    assert span is not None
    batch = batch.until(span.to_offset)
    if span.is_added:
        return _took(view, search, _as_they_are(view, batch, schemas), None)
    batch = of_one_skew(batch, judged.skews)
    again = read_again(definition, batch, judged.skews, span.watermark_us, judged.advances, schemas)
    offsets = batch.offsets[again.usable.index]
    at = belonging(view, search.asked, seen_then(view, judged.graces, again.usable, offsets)).tolist()
    rest = span._replace(from_offset=batch.next_offset, watermark_us=again.watermark_us)
    if not search.to_the_end:  # a log that has lost its beginning takes late ones for others
        most = min(most, search.wanted[span.partition])
    if len(at) > most:
        at = at[:most]
        last = at[-1]
        rest = span._replace(from_offset=int(offsets[last]) + 1, watermark_us=int(again.usable.watermarks_us[last]))
    records = _as_they_are(view, batch, schemas, again.usable.index[list(at)].tolist())
    is_over = rest.from_offset >= rest.to_offset or _is_closed(view, search.asked, judged, rest)
    return _took(view, search, records, None if is_over else rest)


def _took(view: View, search: Search, records: list[Record], rest: SearchSpan | None) -> SearchStep:
    """`rest`: what is left of the span that was read."""
    span = search.next
    assert span is not None
    wanted = dict(search.wanted) | {span.partition: max(0, search.wanted[span.partition] - len(records))}
    found = merge_rows(view, [search.found, *(_contribution(view, record) for record in records)])
    spans = search.without(span).spans
    left = spans if rest is None else (rest, *spans)
    return SearchStep(records, replace(search, spans=left, wanted=wanted, found=found))


def _contribution(view: View, record: Record) -> Cells:
    """What the record gives to its row; its place alone where its values are not known."""
    if record.values:
        return contribution(view, record)
    cells = list(view.neutral)
    cells[COUNT_AT] = 1
    cells[FINGERPRINT_AT] = mix(pack(Origin(view.source.topic(record.topic).number, record.partition, record.offset)))
    return tuple(cells)


def _is_closed(view: View, asked: RowAsked, judged: JudgedBy, rest: SearchSpan) -> bool:
    """Whether all that follows is too late for the row."""
    if asked.end_us is None or rest.is_added:
        return False
    epoch = epoch_at(judged.graces, rest.from_offset)
    seen = seen_us(view, epoch, rest.watermark_us)
    return seen != NO_WATERMARK and seen >= asked.end_us + view.grace_us


def _as_they_are(view: View, batch: Batch, schemas: Schemas, at: Iterable[int] | None = None) -> list[Record]:
    """Records of the batch, without values where their bytes cannot be read: they were mended before they were fed."""
    decoder, records = StrictDecoder(view.source.columns), []
    for index in range(len(batch)) if at is None else at:
        values = decoder.decode(batch.values[index], schemas)
        offset, timestamp_ms = int(batch.offsets[index]), int(batch.timestamps_ms[index])
        known = {} if isinstance(values, Unreadable) else values
        records.append(Record(batch.topic, batch.partition, offset, timestamp_ms, known))
    return records
