"""What rows would be were no record late, refused or there twice: Spark and naive rule agree, record by record."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from app.codecs.stored.corrections import CorrectionOutcome
from app.domain.contribution import contribution, key_of
from app.domain.corrections.correction import Correction
from app.domain.corrections.refeed import Fed, ViewStanding, plan_refeed
from app.domain.marker import InputPosition, Marker, ViewPosition
from app.domain.oracle.view_fold import Folded, fold, put_merging
from app.domain.records import Place, Reason, Record
from app.domain.rows import Cells, RowKey, end_of
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
from tests.support.material.histories import SCHEMAS, START_US, TOPIC_NAMES, Log, encode, random_log
from tests.support.material.views import DAYS, HOPPING, SHIFTS
from tests.support.spark_logs import as_kafka

pytestmark = pytest.mark.spark

VIEWS = (ZONE_DEMAND, VENDOR_TRIPS, DAYS, HOPPING, SHIFTS)
CORRECTIONS = "app.rides.corrections"
Rows = dict[tuple[int, RowKey], Cells]


EXPIRED_TO_US = START_US + 12 * 3_600_000_000
APART = replace(RIDES, told_apart_by=("fare_cents",))


@dataclass
class History:
    """Logs as Spark has them, and which of their records were refused for what was so then."""

    logs: list[Log]
    refused: list[Record]
    marked: DataFrame

    @property
    def seen(self) -> list[Record]:
        return [record for log in self.logs for record in log.records if record not in self.refused]


@pytest.fixture(scope="module")
def history(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> History:
    rng = random.Random(11)
    logs = [twice(rng, random_log(rng, topic, partition, 300)) for topic in TOPIC_NAMES[:2] for partition in (0, 1)]
    every = [record for log in logs for record in log.records]
    unusable = {(one.topic, one.partition, one.offset) for one in fold(ZONE_DEMAND, every).quarantined}
    refused = rng.sample([one for one in every if (one.topic, one.partition, one.offset) not in unusable], 60)
    reasons = {Place(one.topic, one.partition, one.offset): Reason.UNKNOWN_SCHEMA.value for one in refused}
    read = read_source(as_kafka(spark, logs), RIDES, SCHEMAS, tmp_path_factory.mktemp("read"))
    judged_then, usable = with_refused_then(read, RIDES, reasons)
    assert usable == len(refused)
    return History(logs, refused, with_watermark(judged_then, RIDES, []).cache())


@pytest.mark.parametrize(
    ("view", "expired_to_us"),
    [
        *((view, None) for view in (*VIEWS, replace(ZONE_DEMAND, source=APART))),
        *((view, EXPIRED_TO_US) for view in (ZONE_DEMAND, SHIFTS)),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_rows_as_they_should_be_are_those_of_the_naive_rule_and_nothing_is_left_unexplained(
    history: History, view: View, expired_to_us: int | None
) -> None:
    folded = fold(view, history.seen)
    made = {(task, key): cells for task, rows in folded.rows.items() for key, cells in rows.items()}
    should, why = as_it_should_be(view, folded, history.refused)
    kept = {
        at for rows in (made, should) for at, cells in rows.items() if not expired(view, at[1], cells, expired_to_us)
    }
    cuts = cuts_of(view, history.logs, expired_to_us)
    found = completeness(recount(view, cuts, history.marked, ToldCorrections("none", ())))
    differing = {key for key in kept if made.get(key) != should.get(key)}
    assert (found.rows, found.differing_rows, found.residual) == (len(kept), len(differing), 0)
    for row in found.first:
        key = (row.partition, RowKey(row.window_start_us, row.group))
        assert key in differing
        assert (row.count, row.should_be) == tuple(rows[key][0] if key in rows else 0 for rows in (made, should))
        assert row.records
    if expired_to_us is None:
        moved = found.records[Incomplete.MOVED]
        assert found.records | {Incomplete.MOVED: 0} == {one: why[one] for one in Incomplete}
        never_late = {Incomplete.LATE} if view is VENDOR_TRIPS else set()
        assert {one for one in Incomplete if not why[one]} == {Incomplete.MOVED} | never_late
        assert (moved > 0) == (view in (HOPPING, SHIFTS))


def test_records_that_were_re_fed_are_late_no_more_and_a_row_that_was_set_otherwise_is_unexplained(
    history: History,
) -> None:
    folded = fold(ZONE_DEMAND, history.seen)
    rows, late = dict(folded.rows[0]), [one for one in folded.late if one.partition == 0]
    fed = corrections_adding(ZONE_DEMAND, rows, late[: len(late) // 2])
    key, cells = next((key, cells) for key, cells in rows.items() if all(one.key != key for one in fed))
    otherwise = Correction("by hand", ZONE_DEMAND.name, ZONE_DEMAND.version, key, cells, (*cells[:-1], cells[-1] + 1))
    added = {place for one in fed for place in one.adds}
    assert 3 < len(added) < len(late)
    lates = []
    for corrections in ([], [*fed, otherwise]):
        outcomes = [CorrectionOutcome(CORRECTIONS, 0, at, None, one) for at, one in enumerate(corrections)]
        cuts = cuts_of(ZONE_DEMAND, history.logs, corrections=len(outcomes))
        told = ToldCorrections(CORRECTIONS, outcomes)
        found = completeness(recount(ZONE_DEMAND, cuts, history.marked, told))
        assert found.residual == (otherwise in corrections)
        lates.append(found.records[Incomplete.LATE])
    assert lates[0] > lates[1]


def twice(rng: random.Random, log: Log) -> Log:
    """With some rides written again, as they were or with another fare: their ids are the same."""
    for record in rng.sample(log.records, len(log.records) // 8):
        values = dict(record.values) | rng.choice(({}, {"fare_cents": 777}))
        offset, log.next_offset = log.next_offset, log.next_offset + 1
        log.entries.append((offset, record.timestamp_ms, encode(values)))
        log.records.append(replace(record, offset=offset, values=values))
    return log


def as_it_should_be(view: View, folded: Folded, refused: Sequence[Record]) -> tuple[Rows, Counter[Incomplete]]:
    """Rows of all that was in time, late or refused, of those alike one record; and why records are taken in, or
    out."""
    places = {place_of(record) for record in folded.applied}
    in_scope = [one for one in refused if key_of(view, with_derived(view.source, one.values)) is not None]
    of_refused = {place_of(record) for record in in_scope}
    alike: dict[object, list[Record]] = {}
    for record in (*folded.applied, *folded.late, *in_scope):
        apart = [record.values[name] for name in view.source.told_apart_by]
        alike.setdefault((record.values[RIDES.id] or place_of(record), *apart), []).append(record)
    counting = [min(some, key=lambda one: (place_of(one) not in places, place_of(one))) for some in alike.values()]
    taken_in = [place_of(record) for record in counting if place_of(record) not in places]
    why = Counter(Incomplete.QUARANTINED if place in of_refused else Incomplete.LATE for place in taken_in)
    why[Incomplete.DUPLICATE_INPUT] = len(places) - (len(counting) - len(taken_in))
    return rows_of(view, counting), why


def expired(view: View, key: RowKey, cells: Cells, expired_to_us: int | None) -> bool:
    if expired_to_us is None or key.window_start_us is None:
        return False
    return end_of(view, key, cells) <= expired_to_us


def corrections_adding(view: View, rows: Mapping[RowKey, Cells], late: Sequence[Record]) -> list[Correction]:
    """Of a task that has closed all windows."""
    inputs = {name: InputPosition("i", 0, 1 << 40, watermark_us=START_US + 30 * 86_400_000_000) for name in TOPIC_NAMES}
    marker = Marker("app", 1, 0, 1, inputs, {view.name: ViewPosition(view.number, view.version)})
    standing = ViewStanding(marker, rows, frozenset())
    return list(plan_refeed(view, standing, [Fed(record, True) for record in late], "run").corrections)


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


def cuts_of(view: View, logs: Sequence[Log], expired_to_us: int | None = None, corrections: int = 0) -> list[TaskCut]:
    """At the end of all logs; of so many corrections in the first task."""
    cuts = []
    for partition in sorted({log.partition for log in logs}):
        inputs = {log.topic: InputPosition("i", 0, log.next_offset) for log in logs if log.partition == partition}
        if corrections and not partition:
            inputs[CORRECTIONS] = InputPosition("i", 0, corrections, decoded=corrections)
        views = {view.name: ViewPosition(view.number, view.version, expired_to_us=expired_to_us)}
        cuts.append(TaskCut.of(view, partition, Marker("app", 1, partition, 1, inputs, views), 0))
    return cuts
