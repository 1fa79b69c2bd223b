"""Rows that are wrong in table and changelog are named, set right by corrections, and MATCH the next night."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from app.definitions.load import catalogue_of
from app.domain.contribution import contribution, key_of
from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.source import with_derived
from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.rides.generator.dirt import Dirt
from app.rides.ride import RIDES
from spark_batch.reconcile import reconcile
from tests.support.evidence import evidence_of
from tests.support.flow import by_task, exported
from tests.support.machine.asking import flush
from tests.support.machine.closing import are_closed, close_all
from tests.support.machine.cluster import write_rides
from tests.support.machine.spark import lent
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker, flagfall
from tests.support.machine.world import covers, ready_worker
from tests.support.material.stored.row_keys import encode_key
from tests.support.truth import changelog_of, read, records_of

DEFINED = """
[views.revised_demand]
number = 141
source = "rides"
groups = { zone = "pickup_zone" }
window = { kind = "tumbling", column = "pickup_at_us", size_seconds = 900 }
grace_seconds = 600
retention_seconds = 34560000
revisable_seconds = 34560000
measures.fare_cents = { kind = "sum", column = "fare_cents" }
measures.dearest_cents = { kind = "max", column = "total_cents" }
"""
NAME = "revised_demand"
PARTITIONS = 4
Rows = Mapping[tuple[int, RowKey], Cells]


@pytest.fixture
def defined(world: Settings, tmp_path: Path) -> Settings:
    """With a view whose finals are published again."""
    (tmp_path / "definitions.toml").write_text(DEFINED, "utf-8")
    defined = world.model_copy(update={"definitions": tmp_path / "definitions.toml"})
    made = flagfall(defined, "topics", "create")
    assert made.returncode == 0, made.stderr
    return defined


@pytest.mark.spark
def test_wrong_rows_are_set_right_once_with_what_was_added_to_them_and_finals_stay_right(
    defined: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    write_rides(defined, 0, 2_000, dirt=Dirt(late=0.03, stray_years=0, duplicates=0))
    view = catalogue_of(defined).view(NAME)
    with ready_worker(defined, tmp_path, "first") as first:
        wait_for(lambda: covers(defined, first, view), "every ride is covered", [first])
        close_all(defined)
        wait_for(lambda: are_closed(defined), "all windows have closed", [first])
        wait_for(lambda: len(finals(defined, view)) >= len(merged(view, by_task(view, rides(defined)))), "are finals")
        assert first.stop() == 0
    before = by_task(view, rides(defined))
    assert last_finals(defined, view) == merged(view, before)
    late = late_rows(view, rides(defined))
    right = {at: merge_rows(view, [row.get(at, view.neutral) for row in (before, late)]) for at in {**before, **late}}
    spoilt = spoil(defined, view, before, late)
    with ready_worker(defined, tmp_path, "second") as second:
        assert exported(view, [second]) == {**before, **spoilt}
        refed = flagfall(defined, "late", "refeed", "--reason", "late", "--view", NAME, "--worker", second.url)
        assert refed.returncode == 0, refed.stderr
        added = {at: view.merge(spoilt.get(at, before.get(at, view.neutral)), row) for at, row in late.items()}
        assert exported(view, [second]) == (wrong := {**before, **spoilt, **added})
        lacking, *_ = (key for _, key in spoilt)
        assert_found_to_the_end(second, view, lacking)
        refused = reconciled(defined, second, tmp_path / "runs", "--repair", "apply", "--most-repairs", "2")
        assert (refused.returncode, "3 rows can be set right" in refused.stderr) == (1, True)
        assert exported(view, [second]) == wrong
        repaired = reconciled(defined, second, tmp_path / "runs", "--repair", "apply", "--json")
        assert repaired.returncode == Verdict.MISMATCH.exit_code, repaired.stderr
        told = json.loads(repaired.stdout)
        (found,) = told["views"]
        assert (found["classes"], found["repairs"]) == (
            {"ALTERED": 1, "DOUBLED": 1, "LOST": 1},
            {"rows": 3, "left": {}, "finals": {"again": 0, "right": 3, "unclear": 0}},
        )
        assert told["repaired"] == [{"view": NAME, "outcome": "applied", "why": None, "rows": 3}]
        assert exported(view, [second]) == right
        second.kill()
    with ready_worker(defined, tmp_path, "third") as third:
        assert exported(view, [third]) == right
        report = reconcile(
            defined,
            lent(spark),
            catalogue_of(defined).over([view]),
            worker=WorkerDoor(third.url),
            output=tmp_path / "runs",
            work=tmp_path / "work",
        )
        assert report.verdict is Verdict.MATCH, report.as_json()
        assert report.views[0].corrections == 3 + len(late)
        assert last_finals(defined, view) == merged(view, right)


def assert_found_to_the_end(worker: Worker, view: View, key: RowKey) -> None:
    """The records of a row that lacks one: all that belong to it."""
    assert key.window_start_us is not None
    start_us, (zone,) = key
    asked = {"zone": str(zone), "from": to_iso(start_us), "to": to_iso(view.window.window_end(start_us))}
    (row,) = worker.get(f"/v1/views/{view.name}/rows", **asked).json()["data"]
    found = evidence_of(worker, view, row, to_the_end=True)
    assert (found.meta["searched_to_the_end"], len(found.records)) == (True, row["count"] + 1)
    assert not found.meta["agrees"], "null where the log has lost its beginning, as one may that others wrote to before"


def rides(world: Settings) -> list[Record]:
    return records_of(world, RIDES)


def merged(view: View, rows: Rows) -> dict[RowKey, Cells]:
    """What all tasks' rows come to."""
    made: dict[RowKey, Cells] = {}
    for (_, key), cells in rows.items():
        made[key] = view.merge(made.get(key, view.neutral), cells)
    return made


def late_rows(view: View, records: Sequence[Record]) -> dict[tuple[int, RowKey], Cells]:
    """What the late records would make by themselves."""
    made: dict[tuple[int, RowKey], Cells] = {}
    for record in fold(view, records).late:
        key = key_of(view, with_derived(RIDES, record.values))
        assert key is not None
        at = (record.partition, key)
        made[at] = view.merge(made.get(at, view.neutral), contribution(view, record))
    return made


def finals(world: Settings, view: View) -> list[dict[str, Any]]:
    """Of this application, as others publish there, too."""
    told = (json.loads(m.value()) for p in range(PARTITIONS) for m in read(world, names.finals_topic(view.name), p))
    return [one for one in told if one["version"] == view.version]


def last_finals(world: Settings, view: View) -> dict[RowKey, Cells]:
    """Of each window and group the last revision."""
    found: dict[RowKey, tuple[int, Cells]] = {}
    for one in finals(world, view):
        key = RowKey(one["window_start_us"], (one["zone"],))
        found[key] = max(found.get(key, (-1, ())), (one["revision"], tuple(one["cells"])))
    return {key: cells for key, (_, cells) in found.items()}


def spoil(world: Settings, view: View, before: Rows, late: Rows) -> dict[tuple[int, RowKey], Cells]:
    """Of one task a row that lacks a record, one that has one twice, and one with another fare, to which a late record
    is going to be added: as its changelog says, after their finals were published."""
    of_row: dict[tuple[int, RowKey], list[Record]] = {}
    for record in fold(view, rides(world)).applied:
        key = key_of(view, with_derived(RIDES, record.values))
        assert key is not None
        of_row.setdefault((record.partition, key), []).append(record)
    altered = next(at for at in late if at in of_row)
    task, fare = altered[0], view.cells.index("fare_cents")
    lacking, doubled = [at for at, some in of_row.items() if at[0] == task and len(some) > 1 and at not in late][:2]
    spoilt = {
        lacking: merge_rows(view, [contribution(view, one) for one in of_row[lacking][1:]]),
        doubled: merge_rows(view, [before[doubled], contribution(view, of_row[doubled][0])]),
        altered: (*before[altered][:fare], before[altered][fare] + 100, *before[altered][fare + 1 :]),
    }
    marker = changelog_of(world, RIDES, task)[marker_key(RIDES.number)]
    topic, producer = names.changelog_topic(world.app_id, RIDES.name), Producer(librdkafka_options(world.kafka))
    for (_, key), cells in spoilt.items():
        (value,) = encode_rows(np.array([cells], np.int64))
        producer.produce(topic, value, encode_key(view, key), task)
    producer.produce(topic, marker, marker_key(RIDES.number), task)
    flush(producer)
    return spoilt


def reconciled(world: Settings, started: Worker, output: Path, *arguments: str) -> Any:
    asked = ("--worker", started.url, "--output", str(output), "--view", NAME)
    return flagfall(world, "reconcile", *asked, *arguments)
