"""Spark folds corrections as the oracle does, and says which were not what they claimed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from app.codecs.stored.corrections import CorrectionOutcome
from app.domain.contribution import key_of as contribution_key
from app.domain.corrections.corrected import Applied, fold_corrections
from app.domain.corrections.correction import Correction
from app.domain.corrections.refeed import Fed, ViewStanding, plan_refeed
from app.domain.corrections.revision import add_too
from app.domain.difference import ComparedRow, DifferenceKind
from app.domain.marker import InputPosition, Marker, ViewPosition
from app.domain.naming.named import name_rows
from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.domain.rows import RowKey
from app.domain.source import with_derived
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from spark_batch.findings.evidence import SparkEvidence
from spark_batch.folds.corrections import ToldCorrections
from spark_batch.folds.recount import Recount, recount
from spark_batch.source.read_source import read_source
from spark_batch.source.watermark import with_watermark
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.ledgers import LedgerEntry
from spark_batch.stored.row_frames import cells_of, key_of
from tests.support.material.histories import SCHEMAS, START_US, TOPIC_NAMES, Log, random_log
from tests.support.naming.plain import row_of
from tests.support.spark_logs import as_kafka

pytestmark = pytest.mark.spark

CORRECTIONS = "app.rides.corrections"
FARE = ZONE_DEMAND.cells.index("fare_cents")
CLOSED_US = START_US + 30 * 86_400_000_000


def test_rows_of_records_and_corrections_are_the_oracles_and_what_does_not_fit_is_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = random_log(random.Random(3), TOPIC_NAMES[0], 0, 800)
    oracle = fold(ZONE_DEMAND, log.records)
    corrections = planned(oracle.rows[0], oracle.late)
    assert len(corrections) > 3
    told = [*corrections, corrections[0], adding_again(oracle.rows[0], corrections, oracle.applied[0])]
    outcomes = [CorrectionOutcome(CORRECTIONS, 0, at, None, one) for at, one in enumerate(told)]
    beyond = CorrectionOutcome(CORRECTIONS, 0, len(told), None, corrections[1])

    own = recounted(records_of(spark, tmp_path, log), log, [*outcomes, beyond], len(told))
    rows = {(0, key): cells for key, cells in oracle.rows[0].items()}
    unfitting = fold_corrections(ZONE_DEMAND, rows, [Applied(0, at, one) for at, one in enumerate(told)])
    assert {(row["task"], key_of(ZONE_DEMAND, row)): cells_of(ZONE_DEMAND, row) for row in own.rows.collect()} == rows
    assert own.corrected.unfitting == unfitting
    assert [one.offset for one in unfitting] == [len(corrections)]
    assert own.corrections.entries(own.judged, unfitting) == [
        LedgerEntry(CORRECTIONS, 0, "corrections_judged", len(told), len(told)),
        LedgerEntry(CORRECTIONS, 0, "corrections_applied", len(told), len(told) - 1),
        LedgerEntry(CORRECTIONS, 0, "added_twice", 0, 1 + len(corrections[0].adds)),
    ]


def test_what_a_row_is_off_by_is_told_beside_what_corrections_added_to_it(spark: SparkSession, tmp_path: Path) -> None:
    log = random_log(random.Random(3), TOPIC_NAMES[0], 0, 800)
    oracle = fold(ZONE_DEMAND, log.records)
    corrections = planned(oracle.rows[0], oracle.late)
    outcomes = [CorrectionOutcome(CORRECTIONS, 0, at, None, one) for at, one in enumerate(corrections)]
    own = recounted(records_of(spark, tmp_path, log), log, outcomes, len(outcomes))

    by_row = by_key([*oracle.applied, *oracle.late])
    corrected = {one.key: by_row[one.key] for one in corrections}
    for is_lost, kind in ((True, DifferenceKind.LOST), (False, DifferenceKind.DOUBLED)):
        for at in (0, -1):  # the first one the stream itself put there, if any; the last one a correction
            wrong = [one for key, held in corrected.items() if (one := off_by(key, held, held[at], is_lost=is_lost))]
            found = name_rows(ZONE_DEMAND, wrong, SparkEvidence(own, stored=own.judged))
            named = {one.row.key: [witness.record.offset for witness in one.records] for one in found}
            assert named == {row.key: [corrected[row.key][at].offset] for row in wrong}
            assert {(one.kind, one.unexplained) for one in found} == {(kind, ())}
            assert len(wrong) > 3


def test_a_row_that_was_set_to_what_no_record_says_is_named_by_what_it_is_off_by_since(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = random_log(random.Random(3), TOPIC_NAMES[0], 0, 800)
    key, held = max(by_key(fold(ZONE_DEMAND, log.records).applied).items(), key=lambda one: len(one[1]))
    made = row_of(ZONE_DEMAND, held)
    due = (*made[:FARE], made[FARE] + 700, *made[FARE + 1 :])
    by_hand = Correction("hand", ZONE_DEMAND.name, ZONE_DEMAND.version, key, made, due)
    own = recounted(records_of(spark, tmp_path, log), log, [CorrectionOutcome(CORRECTIONS, 0, 0, None, by_hand)], 1)
    twice = add_too(ZONE_DEMAND, due, made, row_of(ZONE_DEMAND, [*held, held[0]]))
    assert twice is not None
    (one,) = name_rows(ZONE_DEMAND, [ComparedRow(0, key, twice, twice, due)], SparkEvidence(own, stored=own.judged))
    assert (one.kind, [witness.record.offset for witness in one.records]) == (DifferenceKind.DOUBLED, [held[0].offset])
    assert one.unexplained == ()


def records_of(spark: SparkSession, place: Path, log: Log) -> DataFrame:
    return with_watermark(read_source(as_kafka(spark, [log]), RIDES, SCHEMAS, place), RIDES, [])


def recounted(records: DataFrame, log: Log, outcomes: Sequence[CorrectionOutcome], judged: int) -> Recount:
    """Of a task that has read the log, and so many corrections."""
    position = InputPosition("i", 0, judged, decoded=judged)
    inputs = {log.topic: InputPosition("i", 0, log.next_offset), CORRECTIONS: position}
    views = {ZONE_DEMAND.name: ViewPosition(ZONE_DEMAND.number, ZONE_DEMAND.version)}
    cut = TaskCut.of(ZONE_DEMAND, 0, Marker("app", 1, 0, 1, inputs, views), 0)
    return recount(ZONE_DEMAND, [cut], records, ToldCorrections(CORRECTIONS, outcomes))


def by_key(records: Iterable[Record]) -> dict[RowKey, list[Record]]:
    found: dict[RowKey, list[Record]] = {}
    for record in records:
        key = contribution_key(ZONE_DEMAND, with_derived(RIDES, record.values))
        assert key is not None
        found.setdefault(key, []).append(record)
    return found


def off_by(key: RowKey, held: Sequence[Record], one: Record, *, is_lost: bool) -> ComparedRow | None:
    """A row that lacks one of its records, or has it twice; None where nothing would be left of it."""
    stored = [other for other in held if other is not one] if is_lost else [*held, one]
    wrong = row_of(ZONE_DEMAND, stored)
    return ComparedRow(0, key, wrong, wrong, row_of(ZONE_DEMAND, held)) if stored else None


def planned(rows: dict, late: list[Record]) -> list[Correction]:  # type: ignore[type-arg]
    """What adds the late records to a task that has closed all windows."""
    topics = [topic.name for topic in RIDES.topics]
    inputs = {name: InputPosition("i", 0, 1 << 40, CLOSED_US) for name in topics}
    views = {ZONE_DEMAND.name: ViewPosition(ZONE_DEMAND.number, ZONE_DEMAND.version)}
    standing = ViewStanding(Marker("app", 1, 0, 1, inputs, views), rows, frozenset())
    return list(plan_refeed(ZONE_DEMAND, standing, [Fed(record, True) for record in late], "run").corrections)


def adding_again(rows: dict, corrections: list[Correction], applied: Record) -> Correction:  # type: ignore[type-arg]
    """A correction of a row that adds a record which the row holds already, as the stream put it there."""
    now = {(0, key): cells for key, cells in rows.items()}
    fold_corrections(ZONE_DEMAND, now, [Applied(0, at, one) for at, one in enumerate(corrections)])
    (again,) = planned({key: cells for (_, key), cells in now.items()}, [applied])
    return replace(again, run="again")
