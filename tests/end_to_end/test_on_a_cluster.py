"""The reconciliation on a Spark cluster: two workers share it, and the loss of one in the middle changes nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from app.base.settings import Settings
from app.rides.generator.dirt import Dirt
from tests.support.clusters.standalone import WORKERS, spark_cluster
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import FLAGFALL, environment_of
from tests.support.machine.world import covers, ready_worker

KILLED_AFTER = "✓ reading and decoding the source records"


@pytest.mark.spark
def test_two_workers_share_a_run_and_an_executor_that_is_killed_in_the_middle_changes_nothing(
    world: Settings, tmp_path: Path
) -> None:
    write_rides(world, 0, 2_000, dirt=Dirt(late=0.01, stray_years=0, duplicates=0))
    with spark_cluster(tmp_path / "cluster") as cluster, ready_worker(world, tmp_path, "worker") as started:
        wait_for(lambda: covers(world, started), "every ride is covered", [started])
        run = subprocess.Popen(
            [FLAGFALL, "reconcile", "--worker", started.url, "--output", tmp_path / "runs", "--view", "zone_demand"],
            env=os.environ | environment_of(world) | cluster.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert run.stderr is not None
        told = []
        for line in run.stderr:
            told.append(line)
            if line.startswith(KILLED_AFTER):
                executors = cluster.executors
                os.kill(executors[0], signal.SIGKILL)
        assert run.wait() == 0, "".join(told)
        (application,) = cluster.state["completedapps"]
    assert len(executors) == WORKERS
    assert application["state"] == "FINISHED"
    assert len(list((tmp_path / "cluster" / "work" / application["id"]).iterdir())) == WORKERS + 1
    (report,) = (tmp_path / "runs").glob("*/report.json")
    found = json.loads(report.read_text())
    assert (found["verdict"], found["residual"]) == ("MATCH", 0)
    assert found["records"] > 0
