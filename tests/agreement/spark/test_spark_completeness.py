"""What rows would be were no record late, refused or there twice: Spark and naive rule agree, record by record."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.domain.contribution import contribution, key_of
from app.domain.marker import InputPosition, Marker, ViewPosition
from app.domain.oracle.view_fold import Folded, fold, put_merging
from app.domain.records import Place, Reason, Record
from app.domain.rows import Cells, RowKey
from app.domain.source import with_derived
from app.domain.view import View
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from spark_batch.findings.completeness import Incomplete, completeness
from spark_batch.folds.corrections import ToldCorrections
from spark_batch.folds.recount import recount
from spark_batch.source.read_source import read_source
from spark_batch.source.refused_then import with_refused_then
from spark_batch.source.watermark import with_watermark
from spark_batch.stored.cut import TaskCut
from tests.support.material.histories import SCHEMAS, TOPIC_NAMES, Log, encode, random_log
from tests.support.material.views import DAYS, HOPPING, SHIFTS
from tests.support.spark_logs import as_kafka

pytestmark = pytest.mark.spark

VIEWS = (ZONE_DEMAND, VENDOR_TRIPS, DAYS, HOPPING, SHIFTS)
Rows = dict[tuple[int, RowKey], Cells]


def test_rows_as_they_should_be_are_those_of_the_naive_rule_and_nothing_is_left_unexplained(
    spark: SparkSession, tmp_path: Path
) -> None:
    rng = random.Random(11)
    logs = [twice(rng, random_log(rng, topic, partition, 300)) for topic in TOPIC_NAMES[:2] for partition in (0, 1)]
    every = [record for log in logs for record in log.records]
    unusable = {(one.topic, one.partition, one.offset) for one in fold(ZONE_DEMAND, every).quarantined}
    refused = rng.sample([one for one in every if (one.topic, one.partition, one.offset) not in unusable], 60)
    reasons = {Place(one.topic, one.partition, one.offset): Reason.UNKNOWN_SCHEMA for one in refused}
    read = read_source(as_kafka(spark, logs), RIDES, VIEWS, SCHEMAS, tmp_path)
    judged_then, usable = with_refused_then(read, RIDES, reasons)
    marked = with_watermark(judged_then, RIDES, []).cache()
    seen = [record for record in every if record not in refused]
    told = Counter[Incomplete]()
    for view in VIEWS:
        folded = fold(view, seen)
        made = {(task, key): cells for task, rows in folded.rows.items() for key, cells in rows.items()}
        should, taken = as_it_should_be(view, folded, refused)
        told += taken
        found = completeness(recount(view, cuts_of(view, logs), marked, ToldCorrections("none", ())))
        differing = {key for key in made.keys() | should.keys() if made.get(key) != should.get(key)}
        assert found.rows == len(should)
        assert found.differing_rows == len(differing)
        assert found.records | {Incomplete.MOVED: 0} == {why: taken[why] for why in Incomplete}
        assert found.residual == 0
        for row in found.first:
            key = (row.partition, RowKey(row.window_start_us, row.group))
            assert key in differing
            assert (row.count, row.should_be) == tuple(rows[key][0] if key in rows else 0 for rows in (made, should))
            assert row.records
        if view in (ZONE_DEMAND, VENDOR_TRIPS, DAYS):
            assert found.records[Incomplete.MOVED] == 0
    assert usable == len(refused)
    assert told.keys() == set(Incomplete) - {Incomplete.MOVED}


def twice(rng: random.Random, log: Log) -> Log:
    """With some rides written again, as they were or with another fare: their ids are the same."""
    for record in rng.sample(log.records, len(log.records) // 8):
        values = dict(record.values) | rng.choice(({}, {"fare_cents": 777}))
        offset, log.next_offset = log.next_offset, log.next_offset + 1
        log.entries.append((offset, record.timestamp_ms, encode(values)))
        log.records.append(replace(record, offset=offset, values=values))
    return log


def as_it_should_be(view: View, folded: Folded, refused: Sequence[Record]) -> tuple[Rows, Counter[Incomplete]]:
    """Rows of all that was in time, late or refused, of each id one record; and why records are taken in, or out."""
    places = {place_of(record) for record in folded.applied}
    in_scope = [one for one in refused if key_of(view, with_derived(view.source, one.values)) is not None]
    of_refused = {place_of(record) for record in in_scope}
    by_id: dict[object, list[Record]] = {}
    for record in (*folded.applied, *folded.late, *in_scope):
        by_id.setdefault(record.values[RIDES.id] or place_of(record), []).append(record)
    counting = [min(some, key=lambda one: (place_of(one) not in places, place_of(one))) for some in by_id.values()]
    taken_in = [place_of(record) for record in counting if place_of(record) not in places]
    taken = Counter(Incomplete.QUARANTINED if place in of_refused else Incomplete.LATE for place in taken_in)
    taken[Incomplete.DUPLICATE_INPUT] = len(places) - (len(counting) - len(taken_in))
    return rows_of(view, counting), taken


def rows_of(view: View, records: Iterable[Record]) -> Rows:
    """The naive fold of records none of which is late."""
    rows: dict[int, dict[RowKey, Cells]] = {}
    for record in records:
        key = key_of(view, with_derived(view.source, record.values))
        assert key is not None
        of_task = rows.setdefault(record.partition, {})
        if view.window.merges:
            put_merging(view, of_task, key, contribution(view, record))
        else:
            of_task[key] = view.merge(of_task.get(key, view.neutral), contribution(view, record))
    return {(task, key): cells for task, of_task in rows.items() for key, cells in of_task.items()}


def place_of(record: Record) -> tuple[int, int, int]:
    return RIDES.topic(record.topic).number, record.partition, record.offset


def cuts_of(view: View, logs: Sequence[Log]) -> list[TaskCut]:
    """At the end of all logs."""
    cuts = []
    for partition in sorted({log.partition for log in logs}):
        inputs = {log.topic: InputPosition("i", 0, log.next_offset) for log in logs if log.partition == partition}
        views = {view.name: ViewPosition(view.number, view.version)}
        cuts.append(TaskCut.of(view, partition, Marker("app", 1, partition, 1, inputs, views), 0))
    return cuts
