"""The nightly run's manifests: executors, here processes, share a run, by what its role allows and no more."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.base.addresses import LOOPBACK
from app.base.settings import Settings
from app.rides.generator.dirt import Dirt
from tests.support.clusters.kubernetes import kubernetes
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import FLAGFALL, environment_of
from tests.support.machine.world import covers, ready_worker

MANIFEST = Path(__file__).parents[2] / "docs" / "kubernetes" / "reconcile.yaml"
KILLED_AFTER = "✓ reading and decoding the source records"
HERE = {
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.port": "0",
    "spark.driver.blockManager.port": "0",
    "spark.blockManager.port": "0",
    "spark.executor.cores": "1",
    "spark.executor.memory": "1g",
    "spark.kubernetes.allocation.batch.delay": "200ms",
}
"""What is otherwise on one machine: the driver's address, ports that are free, and less of it."""


@pytest.fixture
def manifest() -> dict[tuple[str, str], Any]:
    """Its documents, by kind and name."""
    documents = yaml.safe_load_all(MANIFEST.read_text())
    return {(one["kind"], one["metadata"]["name"]): one for one in documents}


@pytest.mark.spark
def test_executors_in_pods_share_a_run_and_one_that_is_killed_in_the_middle_is_replaced(
    world: Settings, tmp_path: Path, manifest: dict[tuple[str, str], Any]
) -> None:
    write_rides(world, 0, 2_000, dirt=Dirt(late=0.01, stray_years=0, duplicates=0))
    conf = spark_conf(manifest["ConfigMap", "spark"]["data"], tmp_path / "conf")
    with kubernetes(tmp_path / "pods") as cluster, ready_worker(world, tmp_path, "worker") as started:
        wait_for(lambda: covers(world, started), "every ride is covered", [started])
        run = subprocess.Popen(
            [FLAGFALL, "reconcile", "--worker", started.url, "--output", tmp_path / "runs", "--view", "zone_demand"],
            env=os.environ
            | environment_of(world)
            | {"FLAGFALL_SPARK_MASTER": f"k8s://{cluster.url}", "SPARK_CONF_DIR": str(conf)},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert run.stderr is not None
        told, executors = [], list[str]()
        for line in run.stderr:
            told.append(line)
            if line.startswith(KILLED_AFTER):
                executors = list(cluster.pods)
                cluster.pods[executors[0]].process.kill()
        assert run.wait() == 0, "".join(told)
        made = cluster.made
    assert (len(executors), len(made)) == (2, 3)
    assert cluster.asked <= allowed(manifest["Role", "reconcile"])
    (report,) = (tmp_path / "runs").glob("*/report.json")
    found = json.loads(report.read_text())
    assert (found["verdict"], found["residual"]) == ("MATCH", 0)
    assert found["records"] > 0


def spark_conf(data: dict[str, str], folder: Path) -> Path:
    """The manifest's files, for this machine."""
    folder.mkdir()
    for name, text in data.items():
        (folder / name).write_text(text.replace("/etc/spark/", f"{folder}/"))
    defaults = folder / "spark-defaults.conf"
    kept = [line for line in defaults.read_text().splitlines() if line.split()[0] not in HERE]
    defaults.write_text("\n".join([*kept, *(f"{name} {value}" for name, value in HERE.items())]) + "\n")
    return folder


def allowed(role: dict[str, Any]) -> set[tuple[str, str]]:
    return {(verb, kind) for rule in role["rules"] for verb in rule["verbs"] for kind in rule["resources"]}
