"""A reconciliation that cannot say whether tables are right says so, and why."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.base.files.verdicts import LastVerdicts, Verdict
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.domain.marker import OffsetRange
from app.domain.records import Reason
from app.domain.view import View
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.topics import source_topics
from spark_batch.reconcile import reconcile
from spark_batch.source import schemas_held
from tests.support.machine.cluster import alter_topic
from tests.support.machine.left_running import await_nothing_left
from tests.support.machine.ports import free_ports
from tests.support.machine.spark import lent
from tests.support.machine.waiting import patient, wait_for
from tests.support.material.histories import START_US
from tests.support.material.stored.exports import export_of, never_exporting
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.world import World
from tests.support.material.stored.written import write_poison, write_refused
from tests.support.reconciled import (
    FARE,
    changed,
    check,
    shift_fates,
    shift_ledger,
)


@contextmanager
def never_started() -> Iterator[SparkSession]:
    """A session that nobody may enter."""
    raise AssertionError("Spark was started")
    yield


def test_a_ledger_that_does_not_add_up_is_invalid(small_world: World, spark: SparkSession, tmp_path: Path) -> None:
    world = small_world
    shift_ledger(world, world.source.topics[0].name, decoded=-1)
    found = check(world, spark, tmp_path)
    assert (found.report.verdict, found.report.verdict.exit_code) == (Verdict.INVALID, 12)
    assert f"{world.source.topics[0].name}-0" in str(found.report.reason)


def test_a_loss_that_was_accepted_leaves_no_verdict_and_is_named(
    small_world: World, spark: SparkSession, tmp_path: Path
) -> None:
    """Whatever the rows say: what they count from before the gap cannot be read any more."""
    world, topic = small_world, small_world.source.topics[0].name
    marker = world.tasks[0].marker
    at = marker.inputs[topic]
    gap = OffsetRange(at.start_offset, at.start_offset + 1)
    told = replace(at, decoded=at.decoded - 1, lost=(gap,))
    world.tasks[0].marker = replace(marker, inputs=marker.inputs | {topic: told})
    found = check(world, spark, tmp_path)
    assert found.report.verdict is Verdict.INCONCLUSIVE
    assert f"{topic}-0 [{gap.from_offset}, {gap.to_offset}): 1 offsets" in str(found.report.reason)


@pytest.mark.parametrize(("cleanup", "verdict"), [("delete", Verdict.MISMATCH), ("compact", Verdict.INVALID)])
def test_records_that_are_gone_leave_no_verdict_only_where_their_topic_is_compacted(
    small_world: World, spark: SparkSession, tmp_path: Path, cleanup: str, verdict: Verdict
) -> None:
    world, topic = small_world, small_world.source.topics[0].name
    alter_topic(world.settings, topic, {"cleanup.policy": cleanup})
    shift_ledger(world, topic, decoded=+1, not_records=-1)
    shift_fates(world, topic, +1)
    found = check(world, spark, tmp_path)
    assert found.report.verdict is verdict
    assert (f"{topic}-0: 1 records" in str(found.report.reason)) is (verdict is Verdict.INVALID)


def test_a_cut_beyond_the_logs_end_is_invalid(small_world: World, spark: SparkSession, tmp_path: Path) -> None:
    world = small_world
    shift_ledger(world, world.source.topics[0].name, next_offset=+1000, not_records=+1000)
    found = check(world, spark, tmp_path)
    assert found.report.verdict is Verdict.INVALID
    assert "the log ends at" in str(found.report.reason)


def test_a_topic_that_was_made_again_is_invalid(small_world: World, spark: SparkSession, tmp_path: Path) -> None:
    world = small_world
    name = world.source.topics[0].name
    for partition in (0, 1):
        marker = world.tasks[partition].marker
        other = replace(marker.inputs[name], topic_id="AAAAAAAAAAAAAAAAAAAAAA")
        world.tasks[partition].marker = replace(marker, inputs=marker.inputs | {name: other})
    found = check(world, spark, tmp_path)
    assert found.report.verdict is Verdict.INVALID
    assert f"{name}: the marker was written over topic id" in str(found.report.reason)


def test_a_registry_that_holds_another_schema_under_an_id_than_the_worker_read_by_is_invalid(
    small_world: World, spark: SparkSession, tmp_path: Path
) -> None:
    world = small_world
    for stored in world.tasks.values():
        stored.marker = stored.marker.with_schemas({"1": "0123456789abcdef"})
    found = check(world, spark, tmp_path)
    assert found.report.verdict is Verdict.INVALID
    assert "schema id 1 was 0123456789abcdef, and is " in str(found.report.reason)


def test_a_marker_that_is_not_where_the_export_says_is_invalid(
    small_world: World, spark: SparkSession, tmp_path: Path
) -> None:
    world = small_world

    def elsewhere(view: View, partition: int) -> bytes:
        world.tasks[partition].changelog_offset -= 1
        return export_of(world, view, partition)

    found = check(world, spark, tmp_path, answer=elsewhere)
    assert found.report.verdict is Verdict.INVALID
    assert "says its marker is there" in str(found.report.reason)


def test_an_export_that_is_cut_short_is_inconclusive(small_world: World, spark: SparkSession, tmp_path: Path) -> None:
    world = small_world
    found = check(world, spark, tmp_path, answer=lambda view, p: export_of(world, view, p)[:-40])
    assert (found.report.verdict, found.report.verdict.exit_code) == (Verdict.INCONCLUSIVE, 11)


def test_without_a_broker_the_run_is_inconclusive(spark: SparkSession, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    settings = Settings.load(data_dir=tmp_path, kafka={"bootstrap_server": f"127.0.0.1:{port}"})
    report = reconcile(
        settings,
        lent(spark),
        SHIPPED.groups,
        worker=WorkerDoor("http://127.0.0.1:1"),
        output=tmp_path,
        work=tmp_path / "work",
    )
    assert report.verdict is Verdict.INCONCLUSIVE
    assert f"no broker answers at 127.0.0.1:{port}" in str(report.reason)


def test_without_a_worker_the_run_is_inconclusive_before_spark_is_started(small_world: World, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    report = reconcile(
        small_world.settings,
        never_started(),
        small_world.groups,
        worker=WorkerDoor(url),
        output=tmp_path,
        work=tmp_path / "work",
    )
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "is a worker running there?" in str(report.reason)


def test_a_history_that_cannot_be_kept_is_told_before_anything_is_begun(small_world: World, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="/proc/"):
        reconcile(
            small_world.settings.model_copy(update={"history_dir": Path("/proc")}),
            never_started(),
            small_world.groups,
            worker=WorkerDoor("http://127.0.0.1:1"),
            output=tmp_path,
            work=tmp_path / "work",
        )
    assert LastVerdicts(tmp_path, small_world.settings.app_id).read() == {}


def test_a_run_that_is_told_to_end_while_it_copies_leaves_no_copies_and_no_process(
    services: Settings, tmp_path: Path
) -> None:
    create_topics(services.kafka, source_topics(services, RIDES))
    settings = services.model_copy(update={"data_dir": tmp_path})
    runs = tmp_path / "runs"
    with never_exporting() as (url, came), (tmp_path / "told").open("w") as told:
        command = [sys.executable, "-m", "app.edge.cli.main", "reconcile", "--worker", url, "--output", str(runs)]
        run = subprocess.Popen(command, stderr=told, env=os.environ | settings.environment())
        wait_for(lambda: came.is_set() or run.poll() is not None, "the run asks for the workers' rows")
        assert run.poll() is None, (tmp_path / "told").read_text()
        (work,) = (runs / "work").glob("run-*")
        assert {path.name for path in work.iterdir()} == {"owner.json", "copies", "spark"}
        run.terminate()
        assert run.wait(patient(60)) == 128 + signal.SIGTERM
    assert not work.exists()
    await_nothing_left(tmp_path)
    views = LastVerdicts(runs, settings.app_id).read().values()
    assert all(one.finished is None for one in views)
    assert views


def test_rows_that_differ_are_not_accused_where_a_marker_had_no_room_for_every_schema(
    small_world: World, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registry may answer of the others as it did not then. Rows that are right are right all the same."""
    world = small_world
    write_refused(world, write_poison(world, [b"\0\x7f\xff\xff\xffunknown"], START_US // 1000), Reason.UNKNOWN_SCHEMA)
    fold_tasks(world)
    monkeypatch.setattr(schemas_held, "MOST_SCHEMAS", 0)
    assert check(world, spark, tmp_path / "right").report.verdict is Verdict.MATCH
    key, cells = next(iter(world.tasks[0].live[world.view.name].items()))
    world.spoil_both(0, world.view, lambda table: table.update({key: changed(cells, FARE)}))
    found = check(world, spark, tmp_path / "differing")
    assert found.report.verdict is Verdict.INCONCLUSIVE
    assert f"{world.view.name}: something differs" in str(found.report.reason)
    assert f"by 1 more schemas than their markers hold (500 each), ids {world.schema_id} to" in str(found.report.reason)
