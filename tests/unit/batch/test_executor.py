"""What a pod of Kubernetes runs, told what Spark tells it (`BasicExecutorFeatureStep` of Spark 4.0)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spark_batch.executor import BACKEND, executor_command

TOLD = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@night.driver:7078",
    "SPARK_EXECUTOR_ID": "1",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "4096m",
    "SPARK_APPLICATION_ID": "spark-6a92",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_EXECUTOR_POD_NAME": "flagfall-exec-1",
    "SPARK_RESOURCE_PROFILE_ID": "0",
}


def test_the_order_of_java_options_is_their_numbers() -> None:
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 2, 0)}
    command = executor_command(Path("java"), TOLD | options)
    assert command[:6] == ["java", "-Dn=0", "-Dn=2", "-Dn=10", "-Xms4096m", "-Xmx4096m"]


def test_spark_s_jars_come_after_settings_and_what_the_run_adds() -> None:
    command = executor_command(Path("java"), TOLD | {"SPARK_CONF_DIR": "/conf", "SPARK_CLASSPATH": "/added/*"})
    conf, added, jars = command[command.index("-cp") + 1].split(":")
    assert (conf, added) == ("/conf", "/added/*")
    assert any(Path(jars).parent.glob("spark-kubernetes_*.jar"))


def test_every_argument_of_the_backend_is_told() -> None:
    command = executor_command(Path("java"), TOLD)
    arguments = command[command.index(BACKEND) + 1 :]
    assert dict(zip(arguments[::2], arguments[1::2], strict=True)) == {
        "--driver-url": "spark://CoarseGrainedScheduler@night.driver:7078",
        "--executor-id": "1",
        "--cores": "2",
        "--app-id": "spark-6a92",
        "--hostname": "10.0.0.7",
        "--resourceProfileId": "0",
        "--podName": "flagfall-exec-1",
    }


def test_what_spark_always_tells_is_missed() -> None:
    with pytest.raises(KeyError, match="SPARK_DRIVER_URL"):
        executor_command(Path("java"), {name: text for name, text in TOLD.items() if name != "SPARK_DRIVER_URL"})


def test_started_by_hand_it_says_who_starts_it() -> None:
    ended = subprocess.run([sys.executable, "-m", "spark_batch.executor"], check=False, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "docs/kubernetes.md" in ended.stderr
