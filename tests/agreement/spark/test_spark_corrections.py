"""Spark folds corrections as the oracle does, and says which were not what they claimed."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.codecs.stored.corrections import CorrectionOutcome
from app.domain.corrections.corrected import Applied, fold_corrections
from app.domain.corrections.correction import Correction
from app.domain.corrections.refeed import Fed, ViewStanding, plan_refeed
from app.domain.marker import InputPosition, Marker, ViewPosition
from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from spark_batch.folds.corrections import ToldCorrections
from spark_batch.folds.recount import recount
from spark_batch.source.read_source import read_source
from spark_batch.source.watermark import with_watermark
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.ledgers import LedgerEntry
from spark_batch.stored.row_frames import cells_of, key_of
from tests.support.material.histories import SCHEMAS, START_US, TOPIC_NAMES, random_log
from tests.support.spark_logs import as_kafka

pytestmark = pytest.mark.spark

CORRECTIONS = "app.rides.corrections"
CLOSED_US = START_US + 30 * 86_400_000_000


def test_rows_of_records_and_corrections_are_the_oracles_and_what_does_not_fit_is_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    rng = random.Random(3)
    log = random_log(rng, TOPIC_NAMES[0], 0, 800)
    oracle = fold(ZONE_DEMAND, log.records)
    corrections = planned(oracle.rows[0], oracle.late)
    assert len(corrections) > 3
    told = [*corrections, corrections[0], adding_again(oracle.rows[0], corrections, oracle.applied[0])]
    outcomes = [CorrectionOutcome(CORRECTIONS, 0, at, None, one) for at, one in enumerate(told)]
    beyond = [
        CorrectionOutcome(CORRECTIONS, 0, len(told), None, corrections[1]),
        CorrectionOutcome(CORRECTIONS, 0, 0, "open", told[0]),
    ]
    position = InputPosition("i", 0, len(told), decoded=len(told))
    inputs = {log.topic: InputPosition("i", 0, log.next_offset), CORRECTIONS: position}
    views = {ZONE_DEMAND.name: ViewPosition(ZONE_DEMAND.number, ZONE_DEMAND.version)}
    cut = TaskCut.of(ZONE_DEMAND, 0, Marker("app", 1, 0, 1, inputs, views), 0)

    records = with_watermark(read_source(as_kafka(spark, [log]), RIDES, SCHEMAS, tmp_path), RIDES, [])
    own = recount(ZONE_DEMAND, [cut], records, ToldCorrections(CORRECTIONS, [*outcomes, *beyond[:1]]))
    rows = {(0, key): cells for key, cells in oracle.rows[0].items()}
    unfitting = fold_corrections(ZONE_DEMAND, rows, [Applied(0, at, one) for at, one in enumerate(told)])
    assert {(row["task"], key_of(ZONE_DEMAND, row)): cells_of(ZONE_DEMAND, row) for row in own.rows.collect()} == rows
    assert own.corrected[1] == unfitting
    assert [one.offset for one in unfitting] == [len(corrections)]
    assert own.corrections.entries(own.judged, unfitting) == [
        LedgerEntry(CORRECTIONS, 0, "corrections_judged", len(told), len(told)),
        LedgerEntry(CORRECTIONS, 0, "corrections_applied", len(told), len(told) - 1),
        LedgerEntry(CORRECTIONS, 0, "added_twice", 0, 1 + len(corrections[0].adds)),
    ]


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
