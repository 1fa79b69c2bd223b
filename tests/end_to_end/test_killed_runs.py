"""A reconciliation that is killed in the middle: no half report, nothing left running, and the next one is right."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
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
KEPT = "batch "
"""The third opinion has kept one, and Spark does not know it yet: it takes the batch again."""


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


@pytest.mark.spark
def test_a_third_opinion_that_is_killed_goes_on_where_it_was_and_agrees(world: Settings, tmp_path: Path) -> None:
    environment = os.environ | environment_of(world)
    third = [FLAGFALL, "third", "zone_demand", "--every", "0.5"]
    write_rides(world, 0, 1_000, dirt=Dirt(late=0.05, stray_years=0, duplicates=0))
    with ready_worker(world, tmp_path, "worker") as started:
        killed, _ = _ended_at_a_batch([*third, "--once"], environment, signal.SIGKILL)
        write_rides(world, 1_000, 1_000, dirt=Dirt(late=0.05, stray_years=0, duplicates=0))
        told_to_end, said = _ended_at_a_batch(third, environment, signal.SIGTERM)
        assert (killed, told_to_end) == (-signal.SIGKILL, 128 + signal.SIGTERM)
        assert "Traceback" not in said
        wait_for(lambda: covers(world, started), "every ride is covered", [started])
        command = [FLAGFALL, "reconcile", "--third", "--view", "zone_demand", "--worker", started.url, "--json"]
        checked = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    found = json.loads(checked.stdout)["views"][0]["third"]
    assert (found["residual"], found["unexplained"], found["one_sided"]) == (0, [], len(found["records"]))
    assert found["batch"] > 0
    assert found["one_sided"] > 0


def _ended_at_a_batch(
    command: Sequence[str], environment: Mapping[str, str], number: signal.Signals
) -> tuple[int, str]:
    """Its exit code when it gets the signal at its first batch, and what it said."""
    said = ""
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as query:
        assert query.stderr is not None
        for line in query.stderr:
            if line.startswith(KEPT):
                os.kill(query.pid, number)
            said += line
    return query.returncode, said
