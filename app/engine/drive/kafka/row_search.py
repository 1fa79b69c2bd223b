"""Reads the log for the records behind a row (`app.engine.core.searching`)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from app.base import names
from app.codecs.avro.schema import Schemas
from app.codecs.stored.corrections import read_outcome
from app.domain.advance import Advance, obeyed
from app.domain.corrections.correction import Correction
from app.domain.event_time import NO_WATERMARK
from app.domain.records import TopicPartition
from app.domain.rules.epochs import GraceEpoch, SkewEpoch
from app.domain.view import View
from app.engine.core.batch import Batch
from app.engine.core.definition import TaskDefinition
from app.engine.core.searching import JudgedBy, SearchSpan
from app.engine.core.views.belonging import RowAsked
from app.engine.drive.kafka.changelog_reader import read_to_end
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.rereading import Rereader


class CoveredInput(NamedTuple):
    """How far a task had read a topic when it told the row, and by which rules it judged the topic's records."""

    next_offset: int
    skews: Sequence[SkewEpoch]
    graces: Sequence[GraceEpoch]


class Rulings(NamedTuple):
    """What was told of each topic-partition, and by what its records were judged."""

    covered: Mapping[TopicPartition, CoveredInput]
    raised: Mapping[TopicPartition, Sequence[Advance]]

    def of(self, place: TopicPartition) -> JudgedBy:
        at = self.covered[place]
        return JudgedBy(at.skews, at.graces, self.raised.get(place, ()))


class RowSearch:
    """Searches for rows of one task group's views."""

    def __init__(self, definition: TaskDefinition, connections: Connections, rereader: Rereader) -> None:
        self.definition = definition
        self._connections, self._rereader = connections, rereader

    async def rulings(self, view: View, covered: Mapping[TopicPartition, CoveredInput]) -> Rulings:
        """By what the records of these topic-partitions were judged."""
        raised: dict[TopicPartition, list[Advance]] = {}
        for advance in obeyed(await self._rereader.all_advances(), view.source):
            raised.setdefault(TopicPartition(advance.topic, advance.partition), []).append(advance)
        return Rulings(covered, raised)

    async def spans(
        self, view: View, asked: RowAsked, rulings: Rulings, partitions: Collection[int]
    ) -> list[SearchSpan]:
        """Where records of these tasks may stand: first where they should, then what lies before, the same at any time.

        Those whose instant is ahead of what they reported may stand before.
        """
        places = sorted(place for place in rulings.covered if place.partition in partitions)
        starts, likely = await self._bounds(view, asked, rulings, places)
        ahead, before = list[SearchSpan](), list[SearchSpan]()
        for place in places:
            end = rulings.covered[place].next_offset
            low = max(starts[place], min(likely[place], end))
            first = low if view.window.column == view.source.reported_at else starts[place]
            for spans, begin, to in ((ahead, low, end), (before, first, low)):
                if begin < to:
                    spans.append(SearchSpan(*place, begin, to, _raised_to(rulings.of(place), begin)))
        return [*ahead, *before]

    async def lost(
        self, view: View, asked: RowAsked, rulings: Rulings, partitions: Iterable[int], *, is_short: bool
    ) -> dict[TopicPartition, int]:
        """Where logs of these tasks begin that have lost what may have been of the row, or may have made records late
        for it.

        `is_short`: records are missing, which may have told of an instant ahead of what they reported.
        """
        partitions = set(partitions)
        places = sorted(place for place in rulings.covered if place.partition in partitions)
        starts, likely = await self._bounds(view, asked, rulings, places)
        anywhere = is_short and view.window.column != view.source.reported_at
        return {
            place: starts[place] for place in places if starts[place] and (anywhere or likely[place] <= starts[place])
        }

    async def _bounds(
        self, view: View, asked: RowAsked, rulings: Rulings, places: Sequence[TopicPartition]
    ) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
        """Where each log begins, and where the row's records should."""
        starts = await self.log_starts(places)
        return starts, starts if asked.start_us is None else await self._since(view, asked.start_us, rulings, places)

    async def _since(
        self, view: View, start_us: int, rulings: Rulings, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Where the records begin that can have reported the instant, or a later one."""
        by_time: dict[int, list[TopicPartition]] = {}
        for place in places:
            skew_seconds = max((e.skew_seconds for e in rulings.of(place).skews), default=view.source.skew_seconds)
            by_time.setdefault(start_us // 1000 - skew_seconds * 1000, []).append(place)
        found: dict[TopicPartition, int] = {}
        for timestamp_ms, some in by_time.items():
            found |= await asyncio.to_thread(self._connections.cluster.log_offsets_since, some, timestamp_ms)
        return found

    async def read(self, span: SearchSpan) -> tuple[Batch, Schemas] | None:
        """The span's first part, as far as the log has it, and its records' schemas; None if all of it is gone."""
        place = TopicPartition(span.topic, span.partition)
        begin = max(span.from_offset, (await self.log_starts([place]))[place])
        if begin >= span.to_offset:
            return None
        read = self._rereader.as_they_stand if span.is_added else self._rereader.between
        batch = await read(place, begin, span.to_offset)
        return batch, await self._connections.schemas.having(set(batch.packed.schema_ids))

    async def log_starts(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset that each log still has."""
        return await asyncio.to_thread(self._connections.cluster.log_starts, places)

    async def corrections(self, view: View, partitions: Sequence[int]) -> list[Correction]:
        """Corrections of the view that these tasks have applied, task by task in their order."""
        topic, cluster = names.corrected_topic(self.definition.application), self._connections.cluster
        places = [TopicPartition(topic, p) for p in partitions]
        starts, ends = await asyncio.gather(
            asyncio.to_thread(cluster.log_starts, places), asyncio.to_thread(cluster.log_ends, places, committed=True)
        )
        found: list[Correction] = []

        def take(batch: Batch) -> None:
            for outcome in filter(None, map(read_outcome, batch.values)):
                one = outcome.correction
                if outcome.why is None and one.version == view.version:  # whatever it was called then
                    found.append(one)

        begin, end = ({place.partition: at for place, at in some.items()} for some in (starts, ends))
        await read_to_end(self._connections.client, topic, begin, end, take)
        return found


def _raised_to(judged: JudgedBy, offset: int) -> int:
    """The watermark at an offset as far as it was raised without a record."""
    return max((a.watermark_us for a in judged.advances if a.at_offset <= offset), default=NO_WATERMARK)
