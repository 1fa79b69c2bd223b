"""The records that are found behind a row are those it was folded from: for every kind of view, on any history."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from hypothesis import given
from hypothesis import strategies as st

from app.codecs.avro.schema import Schemas
from app.domain.advance import Advance
from app.domain.fingerprint import Origin, mix, pack, signed
from app.domain.oracle.view_fold import by_window, fold, together
from app.domain.records import Place, Record, TopicPartition
from app.domain.rows import Cells, RowKey, last_of
from app.domain.view import View
from app.edge.http.brokers import Brokers
from app.edge.http.evidence.looking import Looking
from app.edge.http.long_work import LongWork
from app.engine.core.batch import Batch
from app.engine.core.definition import TaskDefinition
from app.engine.core.searching import JudgedBy, Search, SearchSpan, take
from app.engine.core.views.belonging import RowAsked
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.rereading import Rereader
from app.engine.drive.kafka.row_search import CoveredInput, RowSearch
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.material.histories import SCHEMAS, TOPIC_NAMES, Log, random_advances, random_log
from tests.support.material.views import ALL_VIEWS, SHIFTS

ROWS_LOOKED_INTO = 2
DEFINITION = TaskDefinition("flagfall", (RIDES,), (*ALL_VIEWS, SHIFTS))


class Logs:
    """What a search asks the cluster, the registry and the log, over logs that are held in memory."""

    def __init__(self, logs: Sequence[Log], advances: Sequence[Advance], rng: random.Random) -> None:
        self._logs = {TopicPartition(log.topic, log.partition): log for log in logs}
        self._advances, self._rng = list(advances), rng
        self.starts = dict.fromkeys(self._logs, 0)
        self.read: list[Place] = []

    @property
    def covered(self) -> dict[TopicPartition, CoveredInput]:
        """All of it, by the rules as declared."""
        return {place: CoveredInput(log.next_offset, (), ()) for place, log in self._logs.items()}

    @property
    def cluster(self) -> Logs:
        return self

    @property
    def schemas(self) -> Logs:
        return self

    async def having(self, ids: Iterable[int]) -> Schemas:
        return SCHEMAS

    def log_starts(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.starts[place] for place in places}

    def log_offsets_since(self, places: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int]:
        kept = {p: [entry for entry in self._logs[p].entries if entry[0] >= self.starts[p]] for p in places}
        since = {p: [entry[0] for entry in kept[p] if entry[1] >= timestamp_ms] for p in places}
        return {place: offsets[0] if offsets else self._logs[place].next_offset for place, offsets in since.items()}

    async def all_advances(self) -> list[Advance]:
        return self._advances

    async def between(self, place: TopicPartition, from_offset: int, to_offset: int) -> Batch:
        until = min(to_offset, from_offset + self._rng.choice((1, 7, 100)))
        self.read += [Place(*place, offset) for offset in range(from_offset, until)]
        return self._logs[place].batch(from_offset, until)


@given(seed=st.integers(0, 2**32))
def test_a_rows_records_are_found_wherever_the_search_begins_and_breaks_off(seed: int) -> None:
    rng = random.Random(seed)
    logs = [random_log(rng, topic, partition, 120) for topic in TOPIC_NAMES[:2] for partition in (0, 1)]
    advances = random_advances(rng, logs)
    records = [record for log in logs for record in log.records]
    view = rng.choice((*ALL_VIEWS, SHIFTS))
    rows = fold(view, records, advances).rows
    by_task = {task: by_window(view, of_task) for task, of_task in rows.items()}
    merged = together(view, by_task.values())
    for key in rng.sample(sorted(merged, key=repr), min(ROWS_LOOKED_INTO, len(merged))):
        asked = asked_of(view, key, merged[key])
        wanted = {task: count_of(view, asked, of_task) for task, of_task in by_task.items()}
        found = asyncio.run(look_for(view, asked, wanted, Logs(logs, advances, rng), rng))
        assert found.cells == merged[key]
        places = {(record.topic, record.partition, record.offset) for record in found.records}
        assert len(places) == len(found.records) == merged[key][0]
        assert signed(sum(map(mix_of, found.records))) == merged[key][1]


@given(seed=st.integers(0, 2**32))
def test_to_the_end_a_search_finds_what_a_row_lacks_and_nothing_that_a_right_one_has_not(seed: int) -> None:
    rng = random.Random(seed)
    logs = [random_log(rng, topic, partition, 120) for topic in TOPIC_NAMES[:2] for partition in (0, 1)]
    advances = random_advances(rng, logs)
    view = rng.choice((*ALL_VIEWS, SHIFTS))
    rows = fold(view, [record for log in logs for record in log.records], advances).rows
    by_task = {task: by_window(view, of_task) for task, of_task in rows.items()}
    merged = together(view, by_task.values())
    for key in rng.sample(sorted(merged, key=repr), min(ROWS_LOOKED_INTO, len(merged))):
        asked = asked_of(view, key, merged[key])
        right = {task: count_of(view, asked, by_task.get(task, {})) for task in (0, 1)}
        for wanted in (right, {task: rng.randint(0, count) for task, count in right.items()}):
            found = asyncio.run(look_for(view, asked, wanted, Logs(logs, advances, rng), rng, to_the_end=True))
            assert found.cells == merged[key]
            assert len(found.records) == merged[key][0]


@given(seed=st.integers(0, 2**32))
def test_a_right_row_is_accused_of_nothing_that_its_logs_have_lost(seed: int) -> None:
    rng = random.Random(seed)
    histories = [random_log(rng, topic, partition, 120) for topic in TOPIC_NAMES[:2] for partition in (0, 1)]
    advances = random_advances(rng, histories)
    view = rng.choice((*ALL_VIEWS, SHIFTS))
    rows = fold(view, [record for log in histories for record in log.records], advances).rows
    by_task = {task: by_window(view, of_task) for task, of_task in rows.items()}
    merged = together(view, by_task.values())
    logs = Logs(histories, advances, rng)
    for place, log in zip(logs.starts, histories, strict=True):
        logs.starts[place] = rng.choice((0, rng.randrange(log.next_offset)))
    for key in rng.sample(sorted(merged, key=repr), min(ROWS_LOOKED_INTO, len(merged))):
        asked = asked_of(view, key, merged[key])
        wanted = {task: count_of(view, asked, of_task) for task, of_task in by_task.items()}
        found = asyncio.run(look_for(view, asked, wanted, logs, rng))
        assert len(found.records) == found.cells[0] <= merged[key][0]
        assert found.cells == merged[key] or found.lost


def test_a_record_that_a_correction_brought_in_is_found_though_it_was_refused_where_it_stands() -> None:
    log = random_log(random.Random(3), TOPIC_NAMES[0], 0, 300)
    offsets = {one.offset for one in fold(ZONE_DEMAND, log.records).quarantined}
    refused = [one for one in log.records if one.offset in offsets]
    assert len(refused) > 5
    (cut_off, *others) = refused
    log.entries = [(at, ms, value[:-1] if at == cut_off.offset else value) for at, ms, value in log.entries]
    for one in refused:
        span = SearchSpan(one.topic, 0, one.offset, one.offset + 1, is_added=True)
        search = Search(RowAsked(0, 1, (1,)), (span,), {0: 1}, ZONE_DEMAND.neutral)
        batch = log.batch(one.offset, one.offset + 1)
        step = take(DEFINITION, ZONE_DEMAND, search, JudgedBy((), (), ()), batch, SCHEMAS, 10)
        assert (step.search.next, step.search.is_short) == (None, False)
        assert step.search.found[:2] == (1, signed(mix_of(one)))
        assert [record.values for record in step.records] == [one.values if one in others else {}]


class Evidence(NamedTuple):
    records: list[Record]
    cells: Cells
    lost: Mapping[TopicPartition, int]


async def look_for(
    view: View,
    asked: RowAsked,
    wanted: dict[int, int],
    logs: Logs,
    rng: random.Random,
    *,
    to_the_end: bool = False,
) -> Evidence:
    """Page after page, until nothing is left to be looked at."""
    searcher = RowSearch(DEFINITION, cast(Connections, logs), cast(Rereader, logs))
    rulings = await searcher.rulings(view, logs.covered)
    spans = await searcher.spans(view, asked, rulings, wanted)
    search = Search(asked, tuple(spans), wanted, view.neutral, to_the_end)
    work, records = LongWork(), list[Record]()
    while search.next is not None:
        looking = Looking(searcher, Brokers(request_seconds=60), work, view, rulings, limit=rng.choice((1, 3, 1000)))
        search = await looking.go_on(search)
        records += looking.records
    work.close()
    lost = await searcher.lost(view, asked, rulings, wanted, is_short=search.is_short)
    return Evidence(records, search.found, lost)


def asked_of(view: View, key: RowKey, cells: Cells) -> RowAsked:
    start_us = key.window_start_us
    end_us = None if start_us is None else view.window.window_end(start_us, last_of(view, cells))
    return RowAsked(start_us, end_us, key.group)


def count_of(view: View, asked: RowAsked, rows: Mapping[RowKey, Cells]) -> int:
    return sum(cells[0] for key, cells in rows.items() if belongs(view, asked, key))


def belongs(view: View, asked: RowAsked, key: RowKey) -> bool:
    """Whether a task's row is a part of the one that is asked for, which several may be where rows merge."""
    if not view.window.merges or asked.start_us is None or asked.end_us is None:
        return key == RowKey(asked.start_us, asked.group)
    return key.group == asked.group and asked.start_us <= (key.window_start_us or 0) < asked.end_us


def mix_of(record: Record) -> int:
    number = RIDES.topic(record.topic).number
    return mix(pack(Origin(number, record.partition, record.offset)))
