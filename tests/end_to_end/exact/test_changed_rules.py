"""Grace and skew changed by rolling restarts of two workers: exact, closed windows closed, and Spark says MATCH."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.base import names
from app.base.files.verdicts import Verdict
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.domain.event_time import NO_WATERMARK
from app.domain.obeyed import rules_of
from app.domain.oracle.view_fold import fold
from app.domain.rows import Cells, RowKey
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.rides.views import VIEWS, ZONE_DEMAND
from spark_batch.reconcile import reconcile
from tests.support.apps.noon import RELEASE, RULES
from tests.support.flow import ByTask, exported, in_changelog
from tests.support.machine.cluster import write_rides
from tests.support.machine.spark import lent
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import assert_ledgers, covers, markers, messages
from tests.support.truth import records_of

APPLICATION = "tests.support.apps.noon"


@pytest.mark.spark
def test_rules_changed_at_noon_and_in_the_evening_leave_every_figure_exact(
    world: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    started: list[Worker] = []

    def start(release: str) -> None:
        log = tmp_path / f"{release}-{len(list(tmp_path.iterdir()))}.log"
        started.append(Worker(world, log, {RELEASE: release}, application=APPLICATION))
        wait_for(lambda: all(worker.is_ready() for worker in started), "workers are ready", started)

    def folded() -> None:
        wait_for(lambda: all(covers(world, worker) for worker in started), "all rides are folded", started)

    try:
        write_rides(world, 0, 600)
        start("morning")
        start("morning")
        folded()
        at = 600
        for release in ("noon", "evening"):
            for _ in range(2):  # one worker after the other: meanwhile they obey different rules
                started.pop(0).stop()
                start(release)
                write_rides(world, at, 300)
                at += 300
                folded()
        assert_exact_by_epochs(world, started)
        assert_told_over_http(world, started[0])
        report = reconcile(
            world,
            lent(spark),
            SHIPPED.groups,
            worker=WorkerDoor(started[0].url),
            output=tmp_path / "reports",
            work=tmp_path / "work",
        )
        assert (report.verdict, report.reason) == (Verdict.MATCH, None)
        assert any("floor_us" in entry.name for view in report.views for entry in view.ledger)
    finally:
        for worker in started:
            worker.kill()


def assert_exact_by_epochs(settings: Settings, started: list[Worker]) -> None:
    """Tables equal the naive fold that obeys the epochs, and not one that does not; no window was published twice."""
    records = records_of(settings, RIDES)
    last = [markers(settings, p)[-1] for p in range(settings.topics.partitions)]
    stored = in_changelog(settings, VIEWS)
    for view in VIEWS:
        expected = by_task(fold(view, records, (), rules_of(view, last)).rows)
        assert exported(view, started) == expected
        assert stored[view.name] == expected
        if view is ZONE_DEMAND:
            assert expected != by_task(fold(view, records).rows)
    for marker in last:
        assert_ledgers(marker)
        for topic, epochs in marker.views[ZONE_DEMAND.name].graces.items():
            graces = [epoch.grace_seconds for epoch in epochs]
            assert (graces[0], graces[-1]) == (RULES["morning"].grace_seconds, RULES["evening"].grace_seconds)
            assert RULES["noon"].grace_seconds in graces
            skews = [epoch.skew_seconds for epoch in marker.inputs[topic].skews]
            assert (skews[0], skews[-1]) == (RULES["morning"].skew_seconds, RULES["evening"].skew_seconds)
    told = [json.loads(m.value()) for m in messages(settings, names.finals_topic(ZONE_DEMAND.name))]
    keys = [(t["window_start_us"], t["zone"]) for t in told if t["version"] == ZONE_DEMAND.version]
    assert len(set(keys)) == len(keys)


def assert_told_over_http(settings: Settings, worker: Worker) -> None:
    document = worker.get(f"/v1/views/{ZONE_DEMAND.name}").json()
    assert document["grace_seconds"] == RULES["evening"].grace_seconds
    for partition in document["partitions"]:
        marker = markers(settings, partition["partition"])[-1]
        for topic, told in partition["epochs"].items():
            held = marker.views[ZONE_DEMAND.name].graces[topic]
            assert [e["from_offset"] for e in told["grace"]] == [epoch.from_offset for epoch in held]
            assert [e["closed_to"] is None for e in told["grace"]] == [epoch.floor_us == NO_WATERMARK for epoch in held]
            assert [e["skew_seconds"] for e in told["skew"]] == [e.skew_seconds for e in marker.inputs[topic].skews]


def by_task(rows: dict[int, dict[RowKey, Cells]]) -> ByTask:
    return {(partition, key): cells for partition, of_task in rows.items() for key, cells in of_task.items()}
