"""A standalone Spark cluster of two workers of one core each, on this machine and loopback alone."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pyspark

from app.base.addresses import LOOPBACK
from app.base.services.java import find_java
from scripts.gate.parent import ends_with_parent
from tests.support.machine.ports import free_ports
from tests.support.machine.waiting import patient, wait_for

WORKERS = 2
EXECUTOR = "CoarseGrainedExecutorBackend"
EXECUTOR_MB = 1024
END_SECONDS = 30.0
SCALA = "2.13"
"""Spark looks for it where it was built, if it is not told."""


class SparkCluster:
    """`environment`: what a run needs to be driven from here."""

    def __init__(self, folder: Path) -> None:
        self.log, self._processes = folder / "cluster.log", list[subprocess.Popen[bytes]]()
        port, self._page = free_ports(2)
        self.master = f"spark://{LOOPBACK}:{port}"
        defaults = folder / "conf" / "spark-defaults.conf"
        defaults.parent.mkdir(parents=True)
        defaults.write_text(
            f"spark.driver.host {LOOPBACK}\nspark.executor.memory {EXECUTOR_MB}m\nspark.sql.shuffle.partitions 4\n"
        )
        self.environment = {
            "FLAGFALL_SPARK_MASTER": self.master,
            "SPARK_CONF_DIR": str(defaults.parent),
            "SPARK_LOCAL_IP": LOOPBACK,
        }
        self._start(folder, "master.Master", ["--port", str(port), "--webui-port", str(self._page)])
        for _ in range(WORKERS):
            own, page = free_ports(2)
            sizes = ["--cores", "1", "--memory", f"{EXECUTOR_MB}m", "--work-dir", str(folder / "work")]
            ports = ["--port", str(own), "--webui-port", str(page)]
            self._start(folder, "worker.Worker", [*ports, *sizes, self.master])

    def _start(self, folder: Path, name: str, arguments: list[str]) -> None:
        home = Path(pyspark.__file__).parent
        java = [find_java().executable, "-cp", f"{home}/jars/*", "-Xmx256m", f"org.apache.spark.deploy.{name}"]
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [*java, "--host", LOOPBACK, *arguments],
                env=os.environ | self.environment | {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": SCALA},
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=ends_with_parent(signal.SIGTERM),  # noqa: PLW1509 - it takes no lock
            )
        self._processes.append(process)

    def broke(self) -> str:
        codes = [code for process in self._processes if (code := process.poll()) is not None]
        return f"{len(codes)} of the cluster's processes ended, with {codes}." if codes else ""

    @property
    def state(self) -> Mapping[str, Any]:
        """As the master's page tells it."""
        told: dict[str, Any] = httpx.get(f"http://{LOOPBACK}:{self._page}/json/", trust_env=False).json()
        return told

    def is_ready(self) -> bool:
        # Spark attaches a page before its JSON: a master that is starting answers /json/ with HTML.
        with contextlib.suppress(httpx.HTTPError, json.JSONDecodeError):
            return int(self.state["aliveworkers"]) == WORKERS
        return False

    @property
    def executors(self) -> list[int]:
        """Process ids, of all workers."""
        found = []
        for process in self._processes:
            children = Path(f"/proc/{process.pid}/task").glob("*/children")
            found += [int(pid) for file in children for pid in file.read_text().split() if _is_executor(pid)]
        return sorted(found)

    def end(self) -> None:
        """Workers first: they end their executors."""
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            process.wait(patient(END_SECONDS))


def _is_executor(pid: str) -> bool:
    with contextlib.suppress(OSError):
        return EXECUTOR.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@contextlib.contextmanager
def spark_cluster(folder: Path) -> Iterator[SparkCluster]:
    """One that takes applications; gone at the end."""
    cluster = SparkCluster(folder)
    try:
        wait_for(cluster.is_ready, f"{WORKERS} workers are known to {cluster.master}", [cluster])
        yield cluster
    finally:
        cluster.end()
