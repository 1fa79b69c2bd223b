"""Rows that are wrong in table and changelog are named, set right by corrections, and MATCH the next night."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from app.base import names
from app.base.files.verdicts import Verdict
from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.codecs.stored.changelog import encode_rows, marker_key
from app.domain.contribution import contribution, key_of
from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.source import with_derived
from app.rides.generator.dirt import Dirt
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.rides.views import ZONE_DEMAND
from spark_batch.reconcile import reconcile
from tests.support.flow import by_task, exported
from tests.support.machine.asking import flush
from tests.support.machine.closing import are_closed, close_all
from tests.support.machine.cluster import write_rides
from tests.support.machine.spark import lent
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker, flagfall
from tests.support.machine.world import covers, ready_worker
from tests.support.material.stored.row_keys import encode_key
from tests.support.truth import changelog_of, records_of

FARE = ZONE_DEMAND.cells.index("fare_cents")


@pytest.mark.spark
def test_wrong_rows_are_set_right_once_and_match(world: Settings, spark: SparkSession, tmp_path: Path) -> None:
    write_rides(world, 0, 2_000, dirt=Dirt(late=0.01, stray_years=0, duplicates=0))
    with ready_worker(world, tmp_path, "first") as first:
        wait_for(lambda: covers(world, first), "every ride is covered", [first])
        close_all(world)
        wait_for(lambda: are_closed(world), "all windows have closed", [first])
        assert first.stop() == 0
    right = by_task(ZONE_DEMAND, records_of(world, RIDES))
    spoilt = spoil(world, right)
    with ready_worker(world, tmp_path, "second") as second:
        assert exported(ZONE_DEMAND, [second]) == {**right, **spoilt}
        refused = reconciled(world, second, tmp_path / "runs", "--repair", "apply", "--most-repairs", "2")
        assert (refused.returncode, "3 rows can be set right" in refused.stderr) == (1, True)
        assert exported(ZONE_DEMAND, [second]) == {**right, **spoilt}
        repaired = reconciled(world, second, tmp_path / "runs", "--repair", "apply", "--json")
        assert repaired.returncode == Verdict.MISMATCH.exit_code, repaired.stderr
        told = json.loads(repaired.stdout)
        (zones,) = (view for view in told["views"] if view["view"] == ZONE_DEMAND.name)
        assert (zones["classes"], zones["repairs"]) == (
            {"ALTERED": 1, "DOUBLED": 1, "LOST": 1},
            {"rows": 3, "left": {}},
        )
        assert told["repaired"] == [{"view": ZONE_DEMAND.name, "outcome": "applied", "why": None, "rows": 3}]
        assert exported(ZONE_DEMAND, [second]) == right
        second.kill()
    with ready_worker(world, tmp_path, "third") as third:
        assert exported(ZONE_DEMAND, [third]) == right
        report = reconcile(
            world,
            lent(spark),
            SHIPPED.over([ZONE_DEMAND]),
            worker=WorkerDoor(third.url),
            output=tmp_path / "runs",
            work=tmp_path / "work",
        )
        assert report.verdict is Verdict.MATCH, report.as_json()
        assert report.views[0].corrections == 3


def spoil(world: Settings, right: Mapping[tuple[int, RowKey], Cells]) -> dict[tuple[int, RowKey], Cells]:
    """Of one task a row that lacks a record, one that has one twice, one with another fare: as its changelog says."""
    folded = fold(ZONE_DEMAND, records_of(world, RIDES))
    of_row: dict[tuple[int, RowKey], list[Record]] = {}
    for record in folded.applied:
        key = key_of(ZONE_DEMAND, with_derived(RIDES, record.values))
        assert key is not None
        of_row.setdefault((record.partition, key), []).append(record)
    task = max(at[0] for at in right)
    lacking, doubled, altered = [at for at, some in of_row.items() if at[0] == task and len(some) > 1][:3]
    spoilt = {
        lacking: merge_rows(ZONE_DEMAND, [contribution(ZONE_DEMAND, one) for one in of_row[lacking][1:]]),
        doubled: merge_rows(ZONE_DEMAND, [right[doubled], contribution(ZONE_DEMAND, of_row[doubled][0])]),
        altered: (*right[altered][:FARE], right[altered][FARE] + 100, *right[altered][FARE + 1 :]),
    }
    marker = changelog_of(world, RIDES, task)[marker_key(RIDES.number)]
    topic, producer = names.changelog_topic(world.app_id, RIDES.name), Producer(librdkafka_options(world.kafka))
    for (_, key), cells in spoilt.items():
        (value,) = encode_rows(np.array([cells], np.int64))
        producer.produce(topic, value, encode_key(ZONE_DEMAND, key), task)
    producer.produce(topic, marker, marker_key(RIDES.number), task)
    flush(producer)
    return spoilt


def reconciled(world: Settings, started: Worker, output: Path, *arguments: str) -> Any:
    asked = ("--worker", started.url, "--output", str(output), "--view", ZONE_DEMAND.name)
    return flagfall(world, "reconcile", *asked, *arguments)
