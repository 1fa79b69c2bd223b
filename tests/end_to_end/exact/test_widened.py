"""More partitions for topics in use: two workers before, two after, every figure exact, and Spark says MATCH."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.base import names
from app.base.files.verdicts import Verdict
from app.base.kafka.group_members import Members
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.codecs.stored.advances import read_advance
from app.domain.obeyed import rules_of
from app.domain.oracle.view_fold import fold
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.rides.views import VIEWS, ZONE_DEMAND
from spark_batch.reconcile import reconcile
from tests.support.flow import exported, in_changelog
from tests.support.machine.cluster import write_rides
from tests.support.machine.refusals import assert_said, member, on_own_port
from tests.support.machine.spark import lent
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker, flagfall
from tests.support.machine.world import (
    assert_ledgers,
    covers,
    delete_topics,
    ends_in_words,
    markers,
    messages,
    ready_worker,
    rides_under_way,
    tasks_of,
)
from tests.support.truth import records_of

FEW, MORE = 4, 6


@pytest.mark.spark
def test_partitions_are_added_and_every_figure_stays_exact(
    world: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    wide = world.model_copy(update={"topics": world.topics.model_copy(update={"partitions": MORE})})
    write_rides(world, 0, 3_000)
    with two_workers(world, tmp_path, "few") as started, rides_under_way(world, 3_000):
        wait_for(lambda: all(windows_closed(world, p) for p in range(FEW)), "windows are closed", started)
    widened(wide)
    write_rides(wide, 10_000, 3_000)
    with two_workers(wide, tmp_path, "more") as started:
        wait_for(lambda: sorted(t for w in started for t in tasks_of(w)) == [*range(MORE)], "all have tasks", started)
        wait_for(lambda: all(covers(wide, worker) for worker in started), "all rides are folded", started)
        assert_exact_from_where_they_began(wide, started)
        report = reconcile(
            wide,
            lent(spark),
            SHIPPED.groups,
            worker=WorkerDoor(started[0].url),
            output=tmp_path / "reports",
            work=tmp_path / "work",
        )
        assert (report.verdict, report.reason) == (Verdict.MATCH, None)
    assert_published_once(wide)


@contextlib.contextmanager
def two_workers(settings: Settings, folder: Path, name: str) -> Iterator[list[Worker]]:
    """Stopped in order when this ends."""
    with (
        ready_worker(settings, folder, f"{name}-1") as first,
        ready_worker(on_own_port(settings), folder, f"{name}-2") as second,
    ):
        yield [first, second]
        assert [first.stop(), second.stop()] == [0, 0]


def windows_closed(settings: Settings, partition: int) -> bool:
    history = markers(settings, partition)
    return bool(history) and history[-1].views[ZONE_DEMAND.name].closed_to_us is not None


def widened(wide: Settings) -> None:
    """As a newcomer finds the way: a worker refuses, and names the command, which refuses while one runs.

    A topic that is missing is made, as one of a release that has more than those that are there.
    """
    assert_said(ends_in_words(on_own_port(wide)), "rides.yellow: has 4 partitions, not 6", "`flagfall widen` adds them")
    missing = names.corrected_topic(wide.app_id)
    delete_topics(wide, [missing])
    shown = flagfall(wide, "widen", "--json")
    told = json.loads(shown.stdout)
    assert (shown.returncode, told["widened"], told["groups"]) == (1, False, {"rides": False})
    assert {"topic": "rides.yellow", "partitions": FEW, "wanted": MORE} in told["topics"]
    assert {"topic": missing, "partitions": 0, "wanted": MORE} in told["topics"]
    with member(wide, "http://worker-1:18081#it"):
        refused = flagfall(wide, "widen", "--yes")
    assert (refused.returncode, "1 worker is in the group" in refused.stderr) == (1, True), refused.stderr
    wait_for(lambda: not Members(wide.kafka, wide.app_id)(), "the member has left")
    done = flagfall(wide, "widen", "--yes")
    assert (done.returncode, "done: start the workers" in done.stdout) == (0, True), done.stderr
    again = flagfall(wide, "widen")
    assert (again.returncode, "there is nothing to do" in again.stdout) == (0, True), again.stderr


def assert_exact_from_where_they_began(settings: Settings, started: list[Worker]) -> None:
    """Tables equal the naive fold over all partitions, whose new ones begin with a watermark that was raised."""
    advances = [read_advance(m.value()) for m in messages(settings, names.advances_topic(settings.app_id))]
    raised = [advance for advance in advances if advance is not None]
    assert {a.partition for a in raised if a.at_offset == 0} >= {*range(FEW, MORE)}
    records, stored = records_of(settings, RIDES), in_changelog(settings, VIEWS)
    assert {record.partition for record in records} == {*range(MORE)}
    last = [markers(settings, p)[-1] for p in range(MORE)]
    assert {(marker.tasks, marker.closing_partitions) for marker in last} == {(MORE, FEW)}
    for view in VIEWS:
        rows = fold(view, records, raised, rules_of(view, last)).rows
        expected = {(task, key): cells for task, of_task in rows.items() for key, cells in of_task.items()}
        assert exported(view, started, MORE) == expected == stored[view.name]
    for marker in last:
        assert_ledgers(marker)


def assert_published_once(settings: Settings) -> None:
    told = [json.loads(m.value()) for m in messages(settings, names.finals_topic(ZONE_DEMAND.name))]
    keys = [(t["window_start_us"], t["zone"]) for t in told if t["version"] == ZONE_DEMAND.version]
    assert keys
    assert len(set(keys)) == len(keys)
