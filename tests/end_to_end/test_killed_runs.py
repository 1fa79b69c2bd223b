"""A reconciliation that is killed in the middle: no half report, nothing left running, and the next one is right."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from app.base.settings import Settings
from app.rides.generator.dirt import Dirt
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import FLAGFALL, environment_of
from tests.support.machine.world import covers, ready_worker

KILLED_AFTER = "✓ zone_demand: recomputing and comparing every row"
"""Bronze and silver are kept by then, gold is about to be."""


@pytest.mark.spark
def test_a_driver_that_is_killed_in_the_middle_leaves_no_half_report_and_the_next_run_is_right(
    world: Settings, tmp_path: Path
) -> None:
    kept = world.model_copy(update={"history_dir": tmp_path / "history"})
    runs = tmp_path / "runs"
    write_rides(kept, 0, 2_000, dirt=Dirt(late=0.01, stray_years=0, duplicates=0))
    with ready_worker(kept, tmp_path, "worker") as started:
        wait_for(lambda: covers(kept, started), "every ride is covered", [started])
        command = [FLAGFALL, "reconcile", "--worker", started.url, "--output", runs, "--view", "zone_demand"]
        broken = subprocess.Popen(command, env=os.environ | environment_of(kept), stderr=subprocess.PIPE, text=True)
        assert broken.stderr is not None
        below = list[psutil.Process]()
        for line in broken.stderr:
            if line.startswith(KILLED_AFTER):
                below = psutil.Process(broken.pid).children(recursive=True)
                os.kill(broken.pid, signal.SIGKILL)
        assert broken.wait() == -signal.SIGKILL
        assert below, "the driver has a JVM"
        wait_for(lambda: not any(map(psutil.Process.is_running, below)), "its JVM is gone")
        assert list(runs.glob("*/report.*")) == []
        assert not (runs / "trail.jsonl").exists()
        (checked,) = json.loads((runs / "latest.json").read_text())["applications"][kept.app_id].values()
        assert (checked["finished"], "begun_at" in checked["begun"]) == (None, True)

        again = subprocess.run(
            [*command, "--json"], env=os.environ | environment_of(kept), capture_output=True, text=True, check=False
        )
    assert again.returncode == 0, again.stderr
    found = json.loads(again.stdout)
    assert (found["verdict"], found["residual"], found["offsets_read"]) == ("MATCH", 0, 0)
    assert found["records"] > 0
    assert [report.parent.name for report in runs.glob("*/report.json")] == [found["run_id"]]
    assert list((runs / "work").glob("run-*")) == []
    assert len((runs / "trail.jsonl").read_text().splitlines()) == 1
