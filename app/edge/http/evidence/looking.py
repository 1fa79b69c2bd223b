"""A page of evidence while it is looked for: steps through the log, bounded in records, offsets and time."""

from __future__ import annotations

import time

from app.domain.corrections.correction import Correction
from app.domain.records import Place, Record, TopicPartition
from app.domain.rows import RowKey
from app.domain.view import View
from app.edge.http.brokers import Brokers
from app.edge.http.long_work import LongWork
from app.engine.core.searching import Search, SearchSpan, take
from app.engine.core.views.belonging import RowAsked
from app.engine.drive.kafka.row_search import RowSearch, Rulings

MOST_OFFSETS = 1_000_000
MOST_SECONDS = 5.0
"""For one page, since it began to read; then it says how far it has come, one step at least."""


class Looking:
    """`limit` records at most are found; those in `added` were brought in by corrections. The time that it may take
    begins here."""

    def __init__(
        self,
        searcher: RowSearch,
        brokers: Brokers,
        work: LongWork,
        view: View,
        rulings: Rulings,
        *,
        limit: int,
    ) -> None:
        self._searcher, self._brokers, self._work = searcher, brokers, work
        self._view, self._rulings = view, rulings
        self._limit, self._until_seconds = limit, time.monotonic() + MOST_SECONDS
        self.records: list[Record] = []
        self.added: set[Place] = set()
        self.offsets = 0

    async def go_on(self, search: Search) -> Search:
        """The search as far as the page reaches."""
        while (span := search.next) is not None and self._has_room:
            read = await self._brokers.answer(self._searcher.read(span))
            if read is None:
                search = search.without(span)
                continue
            batch, schemas = read
            judged = self._rulings.of(TopicPartition(span.topic, span.partition))
            most = self._limit - len(self.records)
            step = await self._work.run(
                True, take, self._searcher.definition, self._view, search, judged, batch, schemas, most
            )
            self.offsets += batch.next_offset - batch.base_offset
            self.records += step.records
            if span.is_added:
                self.added |= {Place(one.topic, one.partition, one.offset) for one in step.records}
            search = step.search
        return search

    async def added_spans(self, search: Search) -> list[SearchSpan]:
        """Where the records stand that corrections have brought into the row."""
        corrections = await self._brokers.answer(self._searcher.corrections(self._view, sorted(search.wanted)))
        mine = (one for one in corrections if _is_of(self._view, search.asked, one))
        places = dict.fromkeys(place for one in mine for place in one.adds)
        return [SearchSpan(p.topic, p.partition, p.offset, p.offset + 1, is_added=True) for p in places]

    @property
    def _has_room(self) -> bool:
        goes_on = self.offsets < MOST_OFFSETS and time.monotonic() < self._until_seconds
        return len(self.records) < self._limit and (goes_on or not self.offsets)


def _is_of(view: View, asked: RowAsked, correction: Correction) -> bool:
    key: RowKey = correction.key
    group = key.group[len(view.stored_groups) - len(view.groups) :]
    start_us = key.window_start_us
    if asked.start_us is None or asked.end_us is None or start_us is None:
        return group == asked.group and asked.start_us == start_us
    return group == asked.group and asked.start_us <= start_us < asked.end_us
